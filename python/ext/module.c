/* The extension module iolens.log._native: the log library for Python. Everything public is in iolens.log. */
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "python.h"
#include "reduce.h"

static bool plays_roles(const struct schema_module *m)
{
	for (int role = 1; m->roles && role < ROLE_COUNT; role++)
		if (m->roles[role] >= 0)
			return true;
	return false;
}

/*
 * (id, Darshan's name, key, version, kind of table, counters have roles, is recorded by this version, and the fields of struct
 * schema_interface) of every module of the schema.
 */
static PyObject *list_modules(PyObject *module, PyObject *unused)
{
	static const struct schema_interface unsaid;
	PyObject *list = PyList_New(0);
	for (int i = 0; list && i < LOG_MOD_COUNT; i++) {
		const struct schema_module *m = &schema_modules[i];
		const struct schema_interface *of = m->interface ? m->interface : &unsaid;
		PyObject *one =
			Py_BuildValue("(iszIsNNzzzzzzz)", i, m->name, m->key, m->version, module_kind(i)->name,
				      PyBool_FromLong(plays_roles(m)), PyBool_FromLong(written_slot(i) >= 0), of->title,
				      of->level, of->library, of->library_title, of->over, of->within, of->traces);
		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	return list;
}

static void add_all(const struct schema_module *m, const char *data, Py_ssize_t n, Py_ssize_t width, uint8_t *room)
{
	uint8_t *record = room, *one = room + m->size, *scratch = one + m->size;
	struct reduce_total total = {0};
	for (Py_ssize_t i = 0; i < n; i++) {
		memcpy(one, data + i * width, (size_t)width);
		reduce_total_add(m, &total, record, one, scratch);
	}
	reduce_total_end(m, &total, record);
}

/* (module's number, records, bytes of each) -> the record that they make together, in as many bytes. */
static PyObject *total_of(PyObject *module, PyObject *args)
{
	int number;
	const char *data;
	Py_ssize_t size, width;
	PyObject *records, *made = NULL;
	if (!PyArg_ParseTuple(args, "iSn", &number, &records, &width))
		return NULL;
	data = PyBytes_AsString(records);
	size = PyBytes_Size(records);
	const struct schema_module *m = number >= 0 && number < LOG_MOD_COUNT ? &schema_modules[number] : NULL;
	if (!m || width < 16 || (size_t)width > m->size || size % width) {
		PyErr_SetString(PyExc_ValueError, "no records of this module");
		return NULL;
	}
	uint8_t *room = calloc(3, m->size);
	if (!room)
		return PyErr_NoMemory();
	add_all(m, data, size / width, width, room);
	made = PyBytes_FromStringAndSize((const char *)room, width);
	free(room);
	return made;
}

static const char **parse_paths(PyObject *list, size_t *n)
{
	const char **paths;
	if (!PyTuple_Check(list)) {
		PyErr_SetString(PyExc_TypeError, "paths must be a tuple");
		return NULL;
	}
	*n = (size_t)PyTuple_Size(list);
	paths = calloc(*n + 1, sizeof *paths);
	if (!paths)
		PyErr_NoMemory();
	for (size_t i = 0; paths && i < *n; i++) {
		paths[i] = PyBytes_AsString(PyTuple_GetItem(list, (Py_ssize_t)i));
		if (!paths[i]) {
			free(paths);
			return NULL;
		}
	}
	return paths;
}

/* False with an exception; *out = NULL for None. */
static bool parse_handles(PyObject *list, size_t n, struct handle ***out)
{
	*out = NULL;
	if (list == Py_None)
		return true;
	if (!PyTuple_Check(list) || (size_t)PyTuple_Size(list) != n) {
		PyErr_SetString(PyExc_TypeError, "logs must be a tuple, one for each path");
		return false;
	}
	struct handle **found = calloc(n + 1, sizeof *found);
	if (!found)
		return PyErr_NoMemory() != NULL;
	for (size_t i = 0; i < n; i++) {
		found[i] = handle_of(PyTuple_GetItem(list, (Py_ssize_t)i));
		if (found[i])
			continue;
		free(found);
		PyErr_SetString(PyExc_ValueError, "log is closed");
		return false;
	}
	*out = found;
	return true;
}

/* The stream, or NULL with an exception. columns_of: a tuple of the logs in `of`. */
static PyObject *open_scan(const struct scan_spec *scan, struct form_logs *of, PyObject *columns_of,
			   const struct stream_spec *spec)
{
	struct stream *s = NULL;
	struct log_error err = {0};
	for (size_t i = 0; i < of->n; i++) /* another thread may close a log */
		handle_hold(of->handles[i]);
	Py_BEGIN_ALLOW_THREADS stream_of_logs(&s, scan, of, spec, &err);
	for (size_t i = 0; i < of->n; i++)
		handle_drop(of->handles[i]);
	Py_END_ALLOW_THREADS PyObject *wrong = of->n ? PyTuple_GetItem(columns_of, (Py_ssize_t)of->at) : NULL;
	return s ? stream_object(s) : raise_error(&err, wrong ? path_of(wrong) : NULL);
}

/* scan(paths, spec, threads, stop_on_error, logs for the columns, the logs if they are open or None) */
static PyObject *scan_logs(PyObject *module, PyObject *args)
{
	PyObject *list, *spec, *columns_of, *logs = Py_None, *made = NULL;
	int threads, stop;
	struct parsed_spec p;
	struct handle **handles = NULL, **described = NULL;
	size_t n;
	if (!PyArg_ParseTuple(args, "OOipO!|O", &list, &spec, &threads, &stop, &PyTuple_Type, &columns_of, &logs))
		return NULL;
	size_t ndescribed = (size_t)PyTuple_Size(columns_of);
	const char **paths = parse_paths(list, &n);
	if (paths && parse_handles(logs, n, &handles) && parse_handles(columns_of, ndescribed, &described) &&
	    parse_spec(spec, &p)) {
		struct scan_spec scan = {
			.paths = paths, .handles = handles, .npaths = n, .threads = threads, .stop_on_error = stop};
		struct form_logs of = {described, ndescribed, 0};
		made = open_scan(&scan, &of, columns_of, &p.spec);
		free_spec(&p);
	}
	free(described);
	free(handles);
	free(paths);
	return made;
}

/* memory(usual) -> bytes */
static PyObject *memory_allowed(PyObject *module, PyObject *usual)
{
	uint64_t allowed;
	struct log_error err = {0};
	unsigned long long bytes = PyLong_AsUnsignedLongLong(usual);
	if (PyErr_Occurred())
		return NULL;
	if (budget_spare(&allowed, bytes, &err) < 0)
		return raise_error(&err, NULL);
	return PyLong_FromUnsignedLongLong(allowed);
}

static PyMethodDef functions[] = {
	{"memory", memory_allowed, METH_O, NULL},
	{"modules", list_modules, METH_NOARGS, NULL},
	{"scan", scan_logs, METH_VARARGS, NULL},
	{"total", total_of, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, const char *name, PyObject *type)
{
	if (type && !PyModule_AddObject(module, name, type))
		return 0;
	Py_XDECREF(type);
	return -1;
}

static PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_native",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
#ifdef HAVE_BZIP2
	log_enable_bzip2();
#endif
	log_enable_old();
	log_enable_accesses();
	PyObject *module = PyModule_Create(&definition);
	if (!module)
		return NULL;
	if (!add_type(module, "Log", PyType_FromSpec(&log_spec)) && !add_type(module, "Stream", stream_type_new()) &&
	    !PyModule_AddStringConstant(module, "version", IOLENS_VERSION))
		return module;
	Py_DECREF(module);
	return NULL;
}
