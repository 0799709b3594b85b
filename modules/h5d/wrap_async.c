/*
 * The asynchronous forms, since 1.14: file, function and line of the caller in front, an event set behind. What has an event
 * set may not be there yet when the call returns, and asking would wait for it: a dataset is looked at when it is first used
 * without one, and what is done with one before goes to the operations alone.
 */
#include "record.h"
#include "schema.h"
#include "site.h"
#include "wrap.h"

#define SPAN(next) h5_span(LOG_MOD_H5D, (const void *)(next))

H5_CALL(int64_t, id, H5Dcreate_async,
	(H5_CALLER, int64_t at, const char *name, int64_t type, int64_t space, int64_t link, int64_t creation,
	 int64_t access, int64_t events),
	(H5_CALLER_ARGS, at, name, type, space, link, creation, access, events),
	if (!events) SITE(h5d_on_open(s, id, true, false)))
H5_CALL(int64_t, id, H5Dopen_async, (H5_CALLER, int64_t at, const char *name, int64_t access, int64_t events),
	(H5_CALLER_ARGS, at, name, access, events), if (!events) SITE(h5d_on_open(s, id, false, false)))
H5_CALL(int64_t, id, H5Oopen_async, (H5_CALLER, int64_t at, const char *name, int64_t access, int64_t events),
	(H5_CALLER_ARGS, at, name, access, events), if (!events) SITE(h5d_on_object(s, id)))
H5_CALL(int, result, H5Dclose_async, (H5_CALLER, int64_t dataset, int64_t events), (H5_CALLER_ARGS, dataset, events),
	h5d_on_close(s, dataset, result))
H5_CALL(int, result, H5Oclose_async, (H5_CALLER, int64_t object, int64_t events), (H5_CALLER_ARGS, object, events),
	h5d_on_close(s, object, result))
H5_CALL(int, result, H5Dset_extent_async, (H5_CALLER, int64_t dataset, const uint64_t *size, int64_t events),
	(H5_CALLER_ARGS, dataset, size, events), if (!events) h5d_on_extent(s, dataset, result))
H5_CALL(int, result, H5Dread_async,
	(H5_CALLER, int64_t dataset, int64_t type, int64_t memory, int64_t space, int64_t list, void *data,
	 int64_t events),
	(H5_CALLER_ARGS, dataset, type, memory, space, list, data, events),
	h5d_on_posted(s, IO_READ, (struct h5d_transfer){dataset, memory, space, list}, events, result))
H5_CALL(int, result, H5Dwrite_async,
	(H5_CALLER, int64_t dataset, int64_t type, int64_t memory, int64_t space, int64_t list, const void *data,
	 int64_t events),
	(H5_CALLER_ARGS, dataset, type, memory, space, list, data, events),
	h5d_on_posted(s, IO_WRITE, (struct h5d_transfer){dataset, memory, space, list}, events, result))

WRAP_LATE(int, H5Dread_multi_async, "hdf5", h5_refuse, H5_CALLER, size_t count, const int64_t *datasets,
	  const int64_t *types, const int64_t *memory, const int64_t *spaces, int64_t list, void **data, int64_t events)
{
	type_H5Dread_multi_async next = NEXT(H5Dread_multi_async);
	struct h5_span s = SPAN(next);
	int result = next(H5_CALLER_ARGS, count, datasets, types, memory, spaces, list, data, events);
	for (size_t i = 0; i < count && result >= 0; i++)
		h5d_on_posted(s, IO_READ, (struct h5d_transfer){datasets[i], memory[i], spaces[i], list}, events,
			      result);
	return result;
}

WRAP_LATE(int, H5Dwrite_multi_async, "hdf5", h5_refuse, H5_CALLER, size_t count, const int64_t *datasets,
	  const int64_t *types, const int64_t *memory, const int64_t *spaces, int64_t list, const void **data,
	  int64_t events)
{
	type_H5Dwrite_multi_async next = NEXT(H5Dwrite_multi_async);
	struct h5_span s = SPAN(next);
	int result = next(H5_CALLER_ARGS, count, datasets, types, memory, spaces, list, data, events);
	for (size_t i = 0; i < count && result >= 0; i++)
		h5d_on_posted(s, IO_WRITE, (struct h5d_transfer){datasets[i], memory[i], spaces[i], list}, events,
			      result);
	return result;
}
