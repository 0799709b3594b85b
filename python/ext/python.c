#include "python.h"

#include <string.h>

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
