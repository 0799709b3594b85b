/* _native.Stream: a table of one log or of many, as Arrow takes it. */
#include "python.h"

struct stream_object {
	PyObject_HEAD struct stream *stream;
	bool exported;
	bool busy; /* a batch is being read without the GIL */
};

static PyTypeObject *stream_type;

static struct stream *need(struct stream_object *self)
{
	if (!self->exported && !self->busy)
		return self->stream;
	PyErr_SetString(PyExc_ValueError, self->busy ? "stream is in use by another thread" : "stream was given away");
	return NULL;
}

PyObject *stream_object(struct stream *s)
{
	struct stream_object *self = PyObject_New(struct stream_object, stream_type);
	if (!self) {
		stream_drop(s);
		return NULL;
	}
	self->stream = s;
	self->busy = self->exported = false;
	return (PyObject *)self;
}

static void stream_dealloc(struct stream_object *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct stream *s = self->stream;
	bool exported = self->exported;
	Py_BEGIN_ALLOW_THREADS if (!exported) stream_stop(s);
	stream_drop(s);
	Py_END_ALLOW_THREADS PyObject_Free(self);
	Py_DECREF(type);
}

/* ---- capsules ---- */

static void drop_schema(PyObject *capsule)
{
	struct ArrowSchema *s = PyCapsule_GetPointer(capsule, "arrow_schema");
	if (s->release)
		s->release(s);
	free(s);
}

static void drop_array(PyObject *capsule)
{
	struct ArrowArray *a = PyCapsule_GetPointer(capsule, "arrow_array");
	if (a->release)
		a->release(a);
	free(a);
}

static void drop_stream(PyObject *capsule)
{
	struct ArrowArrayStream *s = PyCapsule_GetPointer(capsule, "arrow_array_stream");
	if (s->release)
		s->release(s);
	free(s);
}

static PyObject *schema_capsule(struct form *form)
{
	struct ArrowSchema *s = calloc(1, sizeof *s);
	if (!s || form_export(form, s)) {
		free(s);
		return PyErr_NoMemory();
	}
	PyObject *capsule = PyCapsule_New(s, "arrow_schema", drop_schema);
	if (!capsule) {
		s->release(s);
		free(s);
	}
	return capsule;
}

static PyObject *array_capsule(struct table *t)
{
	struct ArrowArray *a = calloc(1, sizeof *a);
	if (!a) {
		table_drop(t);
		return PyErr_NoMemory();
	}
	if (table_export(t, a)) {
		free(a);
		return PyErr_NoMemory();
	}
	PyObject *capsule = PyCapsule_New(a, "arrow_array", drop_array);
	if (!capsule) {
		a->release(a);
		free(a);
	}
	return capsule;
}

/* ---- methods ---- */

static PyObject *stream_schema(struct stream_object *self, PyObject *unused)
{
	struct stream *s = need(self);
	return s ? schema_capsule(stream_form(s)) : NULL;
}

/* False with an exception; *t = NULL at the end. */
static bool read_batch(struct stream_object *self, struct table **t)
{
	struct stream *s = need(self);
	struct log_error err = {0};
	const char *path = NULL;
	int code;
	if (!s)
		return false;
	self->busy = true;
	Py_BEGIN_ALLOW_THREADS code = stream_next(s, t, &err, &path);
	Py_END_ALLOW_THREADS self->busy = false;
	if (code < 0)
		raise_error(&err, path);
	return code >= 0;
}

/* Next (schema, array), None at the end. */
static PyObject *stream_object_next(struct stream_object *self, PyObject *unused)
{
	struct table *t;
	if (!read_batch(self, &t))
		return NULL;
	if (!t)
		Py_RETURN_NONE;
	PyObject *array = array_capsule(t);
	PyObject *schema = array ? schema_capsule(stream_form(self->stream)) : NULL;
	if (schema)
		return Py_BuildValue("(NN)", schema, array);
	Py_XDECREF(array);
	return NULL;
}

/* Rows of the next batch, which is dropped; 0 at the end. */
static PyObject *stream_object_next_count(struct stream_object *self, PyObject *unused)
{
	struct table *t;
	if (!read_batch(self, &t))
		return NULL;
	int64_t rows = t ? t->rows : 0;
	table_drop(t);
	return PyLong_FromLongLong(rows);
}

/* The Arrow stream; afterwards only failures() may be called. */
static PyObject *stream_object_export(struct stream_object *self, PyObject *unused)
{
	struct stream *s = need(self);
	struct ArrowArrayStream *out = s ? calloc(1, sizeof *out) : NULL;
	if (!out)
		return s ? PyErr_NoMemory() : NULL;
	PyObject *capsule = PyCapsule_New(out, "arrow_array_stream", drop_stream);
	if (!capsule) {
		free(out);
		return NULL;
	}
	stream_export(s, out);
	self->exported = true;
	return capsule;
}

/* [(log, code, message, offset or None)] */
static PyObject *stream_object_failures(struct stream_object *self, PyObject *unused)
{
	struct stream *s = self->stream;
	size_t n = stream_failures(s, NULL, 0);
	struct log_failure *f = calloc(n + 1, sizeof *f);
	if (!f)
		return PyErr_NoMemory();
	size_t now = stream_failures(s, f, n);
	n = now < n ? now : n;
	PyObject *list = PyList_New(0);
	for (size_t i = 0; list && i < n; i++) {
		const struct log_error *e = &f[i].error;
		PyObject *offset = e->offset == LOG_NOWHERE ? (Py_INCREF(Py_None), Py_None)
							    : PyLong_FromUnsignedLongLong(e->offset);
		PyObject *one =
			Py_BuildValue("(niNNi)", (Py_ssize_t)f[i].log, e->code, text_of(e->message), offset, e->system);
		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	free(f);
	return list;
}

static PyObject *metadata_of(const struct log_bytes *b)
{
	return b->used ? PyBytes_FromStringAndSize((const char *)b->at, (Py_ssize_t)b->used)
		       : PyBytes_FromStringAndSize("", 0);
}

/* (table's metadata, [(name, format, format of an element, metadata)]) with metadata in Arrow's encoding. */
static PyObject *stream_object_fields(struct stream_object *self, PyObject *unused)
{
	struct stream *s = need(self);
	const struct form *f = s ? stream_form(s) : NULL;
	PyObject *list = f ? PyList_New(0) : NULL;
	for (size_t i = 0; list && i < f->ncolumns; i++) {
		const struct form_column *c = &f->columns[i];
		PyObject *one = Py_BuildValue("(sssN)", c->is.name, c->format, column_element_format(&c->is),
					      metadata_of(&c->metadata));
		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	return list ? Py_BuildValue("(NN)", metadata_of(&f->metadata), list) : NULL;
}

static PyMethodDef methods[] = {
	{"fields", (PyCFunction)stream_object_fields, METH_NOARGS, NULL},
	{"schema", (PyCFunction)stream_schema, METH_NOARGS, NULL},
	{"next", (PyCFunction)stream_object_next, METH_NOARGS, NULL},
	{"next_count", (PyCFunction)stream_object_next_count, METH_NOARGS, NULL},
	{"export", (PyCFunction)stream_object_export, METH_NOARGS, NULL},
	{"failures", (PyCFunction)stream_object_failures, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
	{Py_tp_dealloc, (void *)stream_dealloc},
	{Py_tp_methods, methods},
	{0, NULL},
};

static PyType_Spec type_spec = {
	.name = "iolens.log._native.Stream",
	.basicsize = sizeof(struct stream_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = type_slots,
};

PyObject *stream_type_new(void)
{
	PyObject *type = PyType_FromSpec(&type_spec);
	stream_type = (PyTypeObject *)type;
	return type;
}

/* ---- what a stream is to consist of ---- */

void free_spec(struct parsed_spec *p)
{
	free(p->selection);
	Py_XDECREF(p->columns);
	p->selection = NULL;
	p->columns = NULL;
}

static bool parse_columns(struct parsed_spec *p, PyObject *columns)
{
	Py_ssize_t n = PyTuple_Check(columns) ? PyTuple_Size(columns) : -1;
	if (columns == Py_None)
		return true;
	p->selection = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *p->selection);
	if (!p->selection) {
		PyErr_SetString(PyExc_TypeError, "columns must be a tuple");
		return false;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		if (!(p->selection[i] = PyBytes_AsString(PyTuple_GetItem(columns, i))))
			return false;
	p->columns = columns;
	Py_INCREF(columns);
	p->spec.selection = p->selection;
	return true;
}

bool parse_spec(PyObject *arguments, struct parsed_spec *out)
{
	const char *kind;
	PyObject *columns;
	int names, mounts;
	long long rows;
	*out = (struct parsed_spec){0};
	if (!PyArg_ParseTuple(arguments, "sizppOL", &kind, &out->spec.module, &out->spec.section, &names, &mounts,
			      &columns, &rows))
		return false;
	out->spec.kind = find_kind(kind);
	out->spec.names = names;
	out->spec.mounts = mounts;
	out->spec.batch_rows = rows;
	if (!out->spec.kind || rows < 1 || rows > INT32_MAX) {
		PyErr_SetString(PyExc_ValueError,
				out->spec.kind ? "batch_rows must be from 1 to 2^31 - 1" : "no such kind of table");
		return false;
	}
	if (parse_columns(out, columns))
		return true;
	free_spec(out);
	return false;
}
