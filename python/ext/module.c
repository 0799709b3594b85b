/* The extension module iolens.log._native: the log library for Python. Everything public is in iolens.log. */
#include "python.h"

PyObject *raise_error(const struct log_error *err, const char *path)
{
	PyObject *module = PyImport_ImportModule("iolens.error");
	PyObject *make = module ? PyObject_GetAttrString(module, "of_native") : NULL;
	PyObject *where =
		err->offset == LOG_NOWHERE ? (Py_INCREF(Py_None), Py_None) : PyLong_FromUnsignedLongLong(err->offset);
	PyObject *name = text_of(path), *message = text_of(err->message);
	PyObject *error = NULL;
	if (make && where && name && message)
		error = PyObject_CallFunction(make, "iOOOi", err->code, message, name, where, err->system);
	if (error)
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_XDECREF(error);
	Py_XDECREF(name);
	Py_XDECREF(message);
	Py_XDECREF(where);
	Py_XDECREF(make);
	Py_XDECREF(module);
	return NULL;
}

PyObject *text_of(const char *text)
{
	if (!text)
		Py_RETURN_NONE;
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

/* (id, Darshan's name, key, version, columns can be had) of every module of the schema. */
static PyObject *list_modules(PyObject *module, PyObject *unused)
{
	PyObject *list = PyList_New(0);
	for (int i = 0; list && i < LOG_MOD_COUNT; i++) {
		const struct schema_module *m = &schema_modules[i];
		PyObject *one = Py_BuildValue("(iszIs)", i, m->name, m->key, m->version, module_kind(i)->name);
		if (!one || PyList_Append(list, one) < 0)
			Py_CLEAR(list);
		Py_XDECREF(one);
	}
	return list;
}

static PyMethodDef functions[] = {
	{"modules", list_modules, METH_NOARGS, NULL},
	{"scan", scan_logs, METH_VARARGS, NULL},
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
	PyObject *module = PyModule_Create(&definition);
	if (!module)
		return NULL;
	if (!add_type(module, "Log", PyType_FromSpec(&log_spec)) && !add_type(module, "Stream", stream_type_new()))
		return module;
	Py_DECREF(module);
	return NULL;
}
