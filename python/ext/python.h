/* What the files of the extension module share. */
#ifndef IOLENS_PYTHON_H
#define IOLENS_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "stream.h"

/* Raises iolens.IolensError. path may be NULL. Always returns NULL. */
PyObject *raise_error(const struct log_error *err, const char *path);

/* Text of a log: UTF-8, other bytes as surrogates. NULL gives None. */
PyObject *text_of(const char *text);

extern PyType_Spec log_spec;
PyObject *stream_type_new(void);

/* A Stream object, which takes over s. */
PyObject *stream_object(struct stream *s);

/* Fills the spec from `kind, module, section, names, mounts, columns, batch_rows`; the result is to be given to free_spec. */
struct parsed_spec {
	struct stream_spec spec;
	const char **selection;
	PyObject *columns; /* whose texts the selection is */
};
bool parse_spec(PyObject *arguments, struct parsed_spec *out);
void free_spec(struct parsed_spec *p);

struct handle *handle_of(PyObject *log);
const char *path_of(PyObject *log);

#endif
