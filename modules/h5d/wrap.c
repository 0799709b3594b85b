/* HDF5 datasets, and what else moves data: attributes and raw chunks. The library may come late, by dlopen, or never. */
#include "../h5f/record.h"
#include "record.h"
#include "schema.h"
#include "selection.h"
#include "site.h"
#include "wrap.h"

#define SPAN(next) h5_span(LOG_MOD_H5D, (const void *)(next))

/* ---- open and close ---- */

H5_CALL(int64_t, id, H5Dcreate1, (int64_t at, const char *name, int64_t type, int64_t space, int64_t creation),
	(at, name, type, space, creation), SITE(h5d_on_open(s, id, true, true)))
H5_CALL(int64_t, id, H5Dcreate2,
	(int64_t at, const char *name, int64_t type, int64_t space, int64_t link, int64_t creation, int64_t access),
	(at, name, type, space, link, creation, access), SITE(h5d_on_open(s, id, true, false)))
H5_CALL(int64_t, id, H5Dopen1, (int64_t at, const char *name), (at, name), SITE(h5d_on_open(s, id, false, true)))
H5_CALL(int64_t, id, H5Dopen2, (int64_t at, const char *name, int64_t access), (at, name, access),
	SITE(h5d_on_open(s, id, false, false)))

/* HDF5 1.10 and later: an address within the file, whatever the connector takes for one. */
struct token {
	uint8_t byte[16];
};

H5_CALL(int64_t, id, H5Oopen, (int64_t at, const char *name, int64_t access), (at, name, access),
	SITE(h5d_on_object(s, id)))
H5_CALL(int64_t, id, H5Oopen_by_addr, (int64_t at, uint64_t address), (at, address), SITE(h5d_on_object(s, id)))
H5_CALL(int64_t, id, H5Oopen_by_token, (int64_t at, struct token token), (at, token), SITE(h5d_on_object(s, id)))
H5_CALL(int64_t, id, H5Oopen_by_idx, (int64_t at, const char *group, int index, int order, uint64_t n, int64_t access),
	(at, group, index, order, n, access), SITE(h5d_on_object(s, id)))
H5_CALL(int, result, H5Dclose, (int64_t dataset), (dataset), h5d_on_close(s, dataset, result))
H5_CALL(int, result, H5Oclose, (int64_t object), (object), h5d_on_close(s, object, result))

/*
 * The last one closes, and so does Python's h5py: files, too. The number of those that are left is returned. A module that
 * is off has nothing open.
 */
WRAP_LATE(int, H5Idec_ref, "hdf5", h5_refuse, int64_t id)
{
	type_H5Idec_ref next = NEXT(H5Idec_ref);
	struct h5_span s = SPAN(next);
	if (!s.library)
		s = h5_span(LOG_MOD_H5F, (const void *)next);
	int result = next(id);
	if (result == 0) {
		h5d_on_close(s, id, result);
		h5f_on_close(s, id, result);
		selection_on_close(s.library, id);
	}
	return result;
}

H5_CALL(int, result, H5Olink, (int64_t object, int64_t at, const char *name, int64_t link, int64_t access),
	(object, at, name, link, access), h5d_on_link(s, object, result))
H5_CALL(int, result, H5Dset_extent, (int64_t dataset, const uint64_t *size), (dataset, size),
	h5d_on_extent(s, dataset, result))
H5_CALL(int, result, H5Dextend, (int64_t dataset, const uint64_t *size), (dataset, size),
	h5d_on_extent(s, dataset, result))
H5_CALL(int, result, H5Dflush, (int64_t dataset), (dataset), h5d_on_flush(s, dataset, result))

/* ---- transfers ---- */

H5_CALL(int, result, H5Dread, (int64_t dataset, int64_t type, int64_t memory, int64_t space, int64_t list, void *data),
	(dataset, type, memory, space, list, data),
	h5d_on_transfer(s, IO_READ, (struct h5d_transfer){dataset, memory, space, list}, result))
H5_CALL(int, result, H5Dwrite,
	(int64_t dataset, int64_t type, int64_t memory, int64_t space, int64_t list, const void *data),
	(dataset, type, memory, space, list, data),
	h5d_on_transfer(s, IO_WRITE, (struct h5d_transfer){dataset, memory, space, list}, result))
H5_CALL(int, result, H5Dread_multi,
	(size_t count, const int64_t *datasets, const int64_t *types, const int64_t *memory, const int64_t *spaces,
	 int64_t list, void **data),
	(count, datasets, types, memory, spaces, list, data),
	h5d_on_transfers(s, IO_READ, count, datasets, memory, spaces, list, result))
H5_CALL(int, result, H5Dwrite_multi,
	(size_t count, const int64_t *datasets, const int64_t *types, const int64_t *memory, const int64_t *spaces,
	 int64_t list, const void **data),
	(count, datasets, types, memory, spaces, list, data),
	h5d_on_transfers(s, IO_WRITE, count, datasets, memory, spaces, list, result))

/* ---- chunks as they are stored, past filters ---- */

H5_CALL(int, result, H5Dread_chunk,
	(int64_t dataset, int64_t list, const uint64_t *offset, uint32_t *filters, void *data),
	(dataset, list, offset, filters, data),
	h5d_on_operation(s, STATE_OP_HDF5_CHUNK_READ, h5d_chunk_bytes(s, dataset, offset, result), result))
H5_CALL(int, result, H5Dread_chunk1,
	(int64_t dataset, int64_t list, const uint64_t *offset, uint32_t *filters, void *data),
	(dataset, list, offset, filters, data),
	h5d_on_operation(s, STATE_OP_HDF5_CHUNK_READ, h5d_chunk_bytes(s, dataset, offset, result), result))
H5_CALL(int, result, H5Dread_chunk2,
	(int64_t dataset, int64_t list, const uint64_t *offset, uint32_t *filters, void *data, size_t *room),
	(dataset, list, offset, filters, data, room),
	h5d_on_operation(s, STATE_OP_HDF5_CHUNK_READ, h5d_chunk_bytes(s, dataset, offset, result), result))
H5_CALL(int, result, H5Dwrite_chunk,
	(int64_t dataset, int64_t list, uint32_t filters, const uint64_t *offset, size_t size, const void *data),
	(dataset, list, filters, offset, size, data),
	h5d_on_operation(s, STATE_OP_HDF5_CHUNK_WRITE, (int64_t)size, result))

/* ---- attributes ---- */

H5_CALL(int, result, H5Aread, (int64_t attribute, int64_t type, void *data), (attribute, type, data),
	h5d_on_operation(s, STATE_OP_HDF5_ATTRIBUTE_READ, h5d_attribute_bytes(s, attribute, result), result))
H5_CALL(int, result, H5Awrite, (int64_t attribute, int64_t type, const void *data), (attribute, type, data),
	h5d_on_operation(s, STATE_OP_HDF5_ATTRIBUTE_WRITE, h5d_attribute_bytes(s, attribute, result), result))
