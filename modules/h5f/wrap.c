/* HDF5 files: create, open, reopen, flush, close. The library may come late, by dlopen, or never. */
#include "record.h"
#include "schema.h"
#include "site.h"
#include "wrap.h"

#define SPAN(next) h5_span(LOG_MOD_H5F, (const void *)(next))

H5_CALL(int64_t, id, H5Fcreate, (const char *name, unsigned flags, int64_t creation, int64_t access),
	(name, flags, creation, access), SITE(h5f_on_open(s, id, name, access)))
H5_CALL(int64_t, id, H5Fopen, (const char *name, unsigned flags, int64_t access), (name, flags, access),
	SITE(h5f_on_open(s, id, name, access)))
H5_CALL(int64_t, id, H5Freopen, (int64_t file), (file), h5f_on_reopen(s, id, file))
H5_CALL(int, result, H5Fflush, (int64_t object, int scope), (object, scope), h5f_on_flush(s, object, result))
H5_CALL(int, result, H5Fclose, (int64_t file), (file), h5f_on_close(s, file, result))

/*
 * The asynchronous forms, since 1.14: file, function and line of the caller in front, an event set behind. Unless a connector
 * works in the background they are done when they return, like the others.
 */

H5_CALL(int64_t, id, H5Fcreate_async,
	(H5_CALLER, const char *name, unsigned flags, int64_t creation, int64_t access, int64_t events),
	(H5_CALLER_ARGS, name, flags, creation, access, events), SITE(h5f_on_open(s, id, name, access)))
H5_CALL(int64_t, id, H5Fopen_async, (H5_CALLER, const char *name, unsigned flags, int64_t access, int64_t events),
	(H5_CALLER_ARGS, name, flags, access, events), SITE(h5f_on_open(s, id, name, access)))
H5_CALL(int64_t, id, H5Freopen_async, (H5_CALLER, int64_t file, int64_t events), (H5_CALLER_ARGS, file, events),
	h5f_on_reopen(s, id, file))
H5_CALL(int, result, H5Fflush_async, (H5_CALLER, int64_t object, int scope, int64_t events),
	(H5_CALLER_ARGS, object, scope, events), if (!events) h5f_on_flush(s, object, result))
H5_CALL(int, result, H5Fclose_async, (H5_CALLER, int64_t file, int64_t events), (H5_CALLER_ARGS, file, events),
	h5f_on_close(s, file, result))
