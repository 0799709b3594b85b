/* _native.Log: one open log. */
#include "python.h"

#include "trailer.h"

struct log_object {
	PyObject_HEAD struct handle *handle; /* NULL = closed */
	char *path;
};

static struct handle *need(struct log_object *self)
{
	if (!self->handle)
		PyErr_SetString(PyExc_ValueError, "log is closed");
	return self->handle;
}

struct handle *handle_of(PyObject *log)
{
	return ((struct log_object *)log)->handle;
}

const char *path_of(PyObject *log)
{
	return ((struct log_object *)log)->path;
}

static int log_init(struct log_object *self, PyObject *args, PyObject *kw)
{
	const char *path, *data = NULL;
	Py_ssize_t size = 0;
	struct log_error err = {0};
	struct handle *h;
	if (!PyArg_ParseTuple(args, "y|z#", &path, &data, &size))
		return -1;
	if (self->handle) {
		PyErr_SetString(PyExc_ValueError, "log is open already");
		return -1;
	}
	Py_BEGIN_ALLOW_THREADS handle_open(&h, path, data, (size_t)size, &err);
	Py_END_ALLOW_THREADS if (!h)
	{
		raise_error(&err, path);
		return -1;
	}
	self->handle = h;
	self->path = strdup(path);
	return 0;
}

static PyObject *log_object_close(struct log_object *self, PyObject *unused)
{
	handle_drop(self->handle);
	self->handle = NULL;
	Py_RETURN_NONE;
}

static void log_dealloc(struct log_object *self)
{
	PyTypeObject *type = Py_TYPE(self);
	handle_drop(self->handle);
	free(self->path);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	release(self);
	Py_DECREF(type);
}

/* Runs a read of the log without the GIL, and under the log's lock. */
#define UNLOCKED(h, statement)                                         \
	do {                                                           \
		Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&(h)->lock); \
		statement;                                             \
		pthread_mutex_unlock(&(h)->lock);                      \
		Py_END_ALLOW_THREADS                                   \
	} while (0)

/* (version, compression, big_endian, header size, file size, partial bits) */
static PyObject *log_object_container(struct log_object *self, PyObject *unused)
{
	struct handle *h = need(self);
	if (!h)
		return NULL;
	const struct log_container *c = log_container(h->log);
	return Py_BuildValue("(NINIKK)", text_of(c->version), c->compression, PyBool_FromLong(c->swapped),
			     c->header_size, (unsigned long long)c->file_size, (unsigned long long)c->partial);
}

static PyObject *pairs_of(const struct log_pair *pairs, size_t n)
{
	PyObject *list = PyList_New(0);
	for (size_t i = 0; list && i < n; i++) {
		PyObject *one = Py_BuildValue("(NN)", text_of(pairs[i].key), text_of(pairs[i].value));
		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	return list;
}

/* (uid, start, start_ns, end, end_ns, nprocs, id, exe, metadata, mounts, run_time) */
static PyObject *log_object_job(struct log_object *self, PyObject *unused)
{
	struct handle *h = need(self);
	const struct log_job *j = NULL;
	struct log_error err = {0};
	double run_time = 0;
	if (!h)
		return NULL;
	handle_hold(h);
	UNLOCKED(h, log_job(h->log, &j, &err); run_time = log_run_time(h->log));
	PyObject *out = NULL;
	if (!j)
		raise_error(&err, self->path);
	else
		out = Py_BuildValue("(LLLLLLLNNNd)", (long long)j->uid, (long long)j->start, (long long)j->start_ns,
				    (long long)j->end, (long long)j->end_ns, (long long)j->nprocs, (long long)j->id,
				    text_of(j->exe), pairs_of(j->metadata, j->nmetadata),
				    pairs_of(j->mounts, j->nmounts), run_time);
	handle_drop(h);
	return out;
}

/* (id, Darshan's name, key, version, partial, offset, stored bytes) of the modules with data, or that lack some. */
static PyObject *log_object_modules(struct log_object *self, PyObject *unused)
{
	struct handle *h = need(self);
	PyObject *list = h ? PyList_New(0) : NULL;
	const struct log_container *c = h ? log_container(h->log) : NULL;
	for (int i = 0; list && i < LOG_MAX_MODULES; i++) {
		bool partial = c->partial >> i & 1;
		if (!c->module[i].length && !partial)
			continue;
		const char *key = i < LOG_MOD_COUNT ? schema_modules[i].key : NULL;
		PyObject *one = Py_BuildValue("(iszINKK)", i, log_module_name(i), key, c->module_version[i],
					      PyBool_FromLong(partial), (unsigned long long)c->module[i].offset,
					      (unsigned long long)c->module[i].length);
		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	return list;
}

/* (number of names, error or None) */
static PyObject *log_object_names(struct log_object *self, PyObject *unused)
{
	struct handle *h = need(self);
	struct log_error err = {0};
	size_t n = 0;
	if (!h)
		return NULL;
	handle_hold(h);
	UNLOCKED(h, log_names(h->log, &err); n = log_names_count(h->log));
	handle_drop(h);
	if (!err.code)
		return Py_BuildValue("(nO)", (Py_ssize_t)n, Py_None);
	PyObject *type, *value, *trace;
	raise_error(&err, self->path);
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	Py_XDECREF(type);
	Py_XDECREF(trace);
	return Py_BuildValue("(nN)", (Py_ssize_t)n, value);
}

/* Names must have been read: names(). */
static PyObject *log_object_name(struct log_object *self, PyObject *id)
{
	struct handle *h = need(self);
	unsigned long long number = h ? PyLong_AsUnsignedLongLong(id) : 0;
	if (!h || PyErr_Occurred())
		return NULL;
	return text_of(log_name(h->log, number));
}

/* (id, name, where it is): they are by id, and by the last in the order of the log, which has them in one block. */
static PyObject *log_object_name_at(struct log_object *self, PyObject *number)
{
	struct handle *h = need(self);
	Py_ssize_t i = h ? PyLong_AsSsize_t(number) : 0;
	uint64_t id;
	if (!h || PyErr_Occurred())
		return NULL;
	if (i < 0 || (size_t)i >= log_names_count(h->log)) {
		PyErr_SetString(PyExc_IndexError, "no such name");
		return NULL;
	}
	const char *name = log_name_at(h->log, (size_t)i, &id);
	return Py_BuildValue("(KNK)", (unsigned long long)id, text_of(name), (unsigned long long)(uintptr_t)name);
}

/* (name, rows, bytes) of the trailer's sections. */
static PyObject *log_object_sections(struct log_object *self, PyObject *unused)
{
	struct handle *h = need(self);
	struct trailer *t = NULL;
	struct log_error err = {0};
	if (!h)
		return NULL;
	handle_hold(h);
	UNLOCKED(h, trailer_open(&t, h->log, &err));
	PyObject *list = err.code ? raise_error(&err, self->path) : PyList_New(0);
	for (size_t i = 0; list && i < trailer_count(t); i++) {
		const struct trailer_entry *e = trailer_at(t, i);
		PyObject *one = Py_BuildValue("(NKK)", text_of(e->name), (unsigned long long)e->rows,
					      (unsigned long long)e->raw);
		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	trailer_close(t);
	handle_drop(h);
	return list;
}

static PyObject *log_object_stream(struct log_object *self, PyObject *args)
{
	struct handle *h = need(self);
	struct parsed_spec p;
	struct stream *s;
	struct log_error err = {0};
	if (!h || !parse_spec(args, &p))
		return NULL;
	handle_hold(h);
	Py_BEGIN_ALLOW_THREADS stream_of_log(&s, h, self->path, &p.spec, &err);
	Py_END_ALLOW_THREADS handle_drop(h);
	free_spec(&p);
	return s ? stream_object(s) : raise_error(&err, self->path);
}

static PyMethodDef methods[] = {
	{"close", (PyCFunction)log_object_close, METH_NOARGS, NULL},
	{"container", (PyCFunction)log_object_container, METH_NOARGS, NULL},
	{"job", (PyCFunction)log_object_job, METH_NOARGS, NULL},
	{"modules", (PyCFunction)log_object_modules, METH_NOARGS, NULL},
	{"names", (PyCFunction)log_object_names, METH_NOARGS, NULL},
	{"name", (PyCFunction)log_object_name, METH_O, NULL},
	{"name_at", (PyCFunction)log_object_name_at, METH_O, NULL},
	{"sections", (PyCFunction)log_object_sections, METH_NOARGS, NULL},
	{"stream", (PyCFunction)log_object_stream, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
	{Py_tp_init, (void *)log_init},
	{Py_tp_new, (void *)PyType_GenericNew},
	{Py_tp_dealloc, (void *)log_dealloc},
	{Py_tp_methods, methods},
	{0, NULL},
};

PyType_Spec log_spec = {
	.name = "iolens.log._native.Log",
	.basicsize = sizeof(struct log_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = type_slots,
};
