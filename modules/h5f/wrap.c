/* HDF5 files: create, open, reopen, flush, close. The library may come late, by dlopen, or never. */
#include "record.h"
#include "schema.h"
#include "site.h"
#include "wrap.h"

#define SPAN(next) h5_span(LOG_MOD_H5F, (const void *)(next))

WRAP_LATE(int64_t, H5Fcreate, "hdf5", h5_refuse, const char *name, unsigned flags, int64_t creation, int64_t access)
{
	type_H5Fcreate next = NEXT(H5Fcreate);
	struct h5_span s = SPAN(next);
	int64_t id = next(name, flags, creation, access);
	SITE(h5f_on_open(s, id, name, access));
	return id;
}

WRAP_LATE(int64_t, H5Fopen, "hdf5", h5_refuse, const char *name, unsigned flags, int64_t access)
{
	type_H5Fopen next = NEXT(H5Fopen);
	struct h5_span s = SPAN(next);
	int64_t id = next(name, flags, access);
	SITE(h5f_on_open(s, id, name, access));
	return id;
}

WRAP_LATE(int64_t, H5Freopen, "hdf5", h5_refuse, int64_t file)
{
	type_H5Freopen next = NEXT(H5Freopen);
	struct h5_span s = SPAN(next);
	int64_t id = next(file);
	h5f_on_reopen(s, id, file);
	return id;
}

WRAP_LATE(int, H5Fflush, "hdf5", h5_refuse, int64_t object, int scope)
{
	type_H5Fflush next = NEXT(H5Fflush);
	struct h5_span s = SPAN(next);
	int result = next(object, scope);
	h5f_on_flush(s, object, result);
	return result;
}

WRAP_LATE(int, H5Fclose, "hdf5", h5_refuse, int64_t file)
{
	type_H5Fclose next = NEXT(H5Fclose);
	struct h5_span s = SPAN(next);
	int result = next(file);
	h5f_on_close(s, file, result);
	return result;
}

/*
 * The asynchronous forms, since 1.14: file, function and line of the caller in front, an event set behind. Unless a connector
 * works in the background they are done when they return, like the others.
 */
#define CALLER         const char *file_, const char *function_, unsigned line_
#define H5_CALLER_ARGS file_, function_, line_

WRAP_LATE(int64_t, H5Fcreate_async, "hdf5", h5_refuse, H5_CALLER, const char *name, unsigned flags, int64_t creation,
	  int64_t access, int64_t events)
{
	type_H5Fcreate_async next = NEXT(H5Fcreate_async);
	struct h5_span s = SPAN(next);
	int64_t id = next(H5_CALLER_ARGS, name, flags, creation, access, events);
	SITE(h5f_on_open(s, id, name, access));
	return id;
}

WRAP_LATE(int64_t, H5Fopen_async, "hdf5", h5_refuse, H5_CALLER, const char *name, unsigned flags, int64_t access,
	  int64_t events)
{
	type_H5Fopen_async next = NEXT(H5Fopen_async);
	struct h5_span s = SPAN(next);
	int64_t id = next(H5_CALLER_ARGS, name, flags, access, events);
	SITE(h5f_on_open(s, id, name, access));
	return id;
}

WRAP_LATE(int64_t, H5Freopen_async, "hdf5", h5_refuse, H5_CALLER, int64_t file, int64_t events)
{
	type_H5Freopen_async next = NEXT(H5Freopen_async);
	struct h5_span s = SPAN(next);
	int64_t id = next(H5_CALLER_ARGS, file, events);
	h5f_on_reopen(s, id, file);
	return id;
}

WRAP_LATE(int, H5Fflush_async, "hdf5", h5_refuse, H5_CALLER, int64_t object, int scope, int64_t events)
{
	type_H5Fflush_async next = NEXT(H5Fflush_async);
	struct h5_span s = SPAN(next);
	int result = next(H5_CALLER_ARGS, object, scope, events);
	if (!events)
		h5f_on_flush(s, object, result);
	return result;
}

WRAP_LATE(int, H5Fclose_async, "hdf5", h5_refuse, H5_CALLER, int64_t file, int64_t events)
{
	type_H5Fclose_async next = NEXT(H5Fclose_async);
	struct h5_span s = SPAN(next);
	int result = next(H5_CALLER_ARGS, file, events);
	h5f_on_close(s, file, result);
	return result;
}
