/* HDF5 datasets, and what else moves data: attributes and raw chunks. The library may come late, by dlopen, or never. */
#include "../h5f/record.h"
#include "record.h"
#include "schema.h"
#include "selection.h"
#include "site.h"
#include "wrap.h"

#define SPAN(next) h5_span(LOG_MOD_H5D, (const void *)(next))

/* ---- open and close ---- */

WRAP_LATE(int64_t, H5Dcreate1, "hdf5", h5_refuse, int64_t at, const char *name, int64_t type, int64_t space,
	  int64_t creation)
{
	type_H5Dcreate1 next = NEXT(H5Dcreate1);
	struct h5_span s = SPAN(next);
	int64_t id = next(at, name, type, space, creation);
	SITE(h5d_on_open(s, id, true, true));
	return id;
}

WRAP_LATE(int64_t, H5Dcreate2, "hdf5", h5_refuse, int64_t at, const char *name, int64_t type, int64_t space,
	  int64_t link, int64_t creation, int64_t access)
{
	type_H5Dcreate2 next = NEXT(H5Dcreate2);
	struct h5_span s = SPAN(next);
	int64_t id = next(at, name, type, space, link, creation, access);
	SITE(h5d_on_open(s, id, true, false));
	return id;
}

WRAP_LATE(int64_t, H5Dopen1, "hdf5", h5_refuse, int64_t at, const char *name)
{
	type_H5Dopen1 next = NEXT(H5Dopen1);
	struct h5_span s = SPAN(next);
	int64_t id = next(at, name);
	SITE(h5d_on_open(s, id, false, true));
	return id;
}

WRAP_LATE(int64_t, H5Dopen2, "hdf5", h5_refuse, int64_t at, const char *name, int64_t access)
{
	type_H5Dopen2 next = NEXT(H5Dopen2);
	struct h5_span s = SPAN(next);
	int64_t id = next(at, name, access);
	SITE(h5d_on_open(s, id, false, false));
	return id;
}

/* HDF5 1.10 and later: an address within the file, whatever the connector takes for one. */
struct token {
	uint8_t byte[16];
};

WRAP_LATE(int64_t, H5Oopen, "hdf5", h5_refuse, int64_t at, const char *name, int64_t access)
{
	type_H5Oopen next = NEXT(H5Oopen);
	struct h5_span s = SPAN(next);
	int64_t id = next(at, name, access);
	SITE(h5d_on_object(s, id));
	return id;
}

WRAP_LATE(int64_t, H5Oopen_by_addr, "hdf5", h5_refuse, int64_t at, uint64_t address)
{
	type_H5Oopen_by_addr next = NEXT(H5Oopen_by_addr);
	struct h5_span s = SPAN(next);
	int64_t id = next(at, address);
	SITE(h5d_on_object(s, id));
	return id;
}

WRAP_LATE(int64_t, H5Oopen_by_token, "hdf5", h5_refuse, int64_t at, struct token token)
{
	type_H5Oopen_by_token next = NEXT(H5Oopen_by_token);
	struct h5_span s = SPAN(next);
	int64_t id = next(at, token);
	SITE(h5d_on_object(s, id));
	return id;
}

WRAP_LATE(int64_t, H5Oopen_by_idx, "hdf5", h5_refuse, int64_t at, const char *group, int index, int order, uint64_t n,
	  int64_t access)
{
	type_H5Oopen_by_idx next = NEXT(H5Oopen_by_idx);
	struct h5_span s = SPAN(next);
	int64_t id = next(at, group, index, order, n, access);
	SITE(h5d_on_object(s, id));
	return id;
}

WRAP_LATE(int, H5Dclose, "hdf5", h5_refuse, int64_t dataset)
{
	type_H5Dclose next = NEXT(H5Dclose);
	struct h5_span s = SPAN(next);
	int result = next(dataset);
	h5d_on_close(s, dataset, result);
	return result;
}

WRAP_LATE(int, H5Oclose, "hdf5", h5_refuse, int64_t object)
{
	type_H5Oclose next = NEXT(H5Oclose);
	struct h5_span s = SPAN(next);
	int result = next(object);
	h5d_on_close(s, object, result);
	return result;
}

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

WRAP_LATE(int, H5Olink, "hdf5", h5_refuse, int64_t object, int64_t at, const char *name, int64_t link, int64_t access)
{
	type_H5Olink next = NEXT(H5Olink);
	struct h5_span s = SPAN(next);
	int result = next(object, at, name, link, access);
	h5d_on_link(s, object, result);
	return result;
}

WRAP_LATE(int, H5Dset_extent, "hdf5", h5_refuse, int64_t dataset, const uint64_t *size)
{
	type_H5Dset_extent next = NEXT(H5Dset_extent);
	struct h5_span s = SPAN(next);
	int result = next(dataset, size);
	h5d_on_extent(s, dataset, result);
	return result;
}

WRAP_LATE(int, H5Dextend, "hdf5", h5_refuse, int64_t dataset, const uint64_t *size)
{
	type_H5Dextend next = NEXT(H5Dextend);
	struct h5_span s = SPAN(next);
	int result = next(dataset, size);
	h5d_on_extent(s, dataset, result);
	return result;
}

WRAP_LATE(int, H5Dflush, "hdf5", h5_refuse, int64_t dataset)
{
	type_H5Dflush next = NEXT(H5Dflush);
	struct h5_span s = SPAN(next);
	int result = next(dataset);
	h5d_on_flush(s, dataset, result);
	return result;
}

/* ---- transfers ---- */

WRAP_LATE(int, H5Dread, "hdf5", h5_refuse, int64_t dataset, int64_t type, int64_t memory, int64_t space, int64_t list,
	  void *data)
{
	type_H5Dread next = NEXT(H5Dread);
	struct h5_span s = SPAN(next);
	int result = next(dataset, type, memory, space, list, data);
	h5d_on_transfer(s, IO_READ, (struct h5d_transfer){dataset, memory, space, list}, result);
	return result;
}

WRAP_LATE(int, H5Dwrite, "hdf5", h5_refuse, int64_t dataset, int64_t type, int64_t memory, int64_t space, int64_t list,
	  const void *data)
{
	type_H5Dwrite next = NEXT(H5Dwrite);
	struct h5_span s = SPAN(next);
	int result = next(dataset, type, memory, space, list, data);
	h5d_on_transfer(s, IO_WRITE, (struct h5d_transfer){dataset, memory, space, list}, result);
	return result;
}

WRAP_LATE(int, H5Dread_multi, "hdf5", h5_refuse, size_t count, const int64_t *datasets, const int64_t *types,
	  const int64_t *memory, const int64_t *spaces, int64_t list, void **data)
{
	type_H5Dread_multi next = NEXT(H5Dread_multi);
	struct h5_span s = SPAN(next);
	int result = next(count, datasets, types, memory, spaces, list, data);
	h5d_on_transfers(s, IO_READ, count, datasets, memory, spaces, list, result);
	return result;
}

WRAP_LATE(int, H5Dwrite_multi, "hdf5", h5_refuse, size_t count, const int64_t *datasets, const int64_t *types,
	  const int64_t *memory, const int64_t *spaces, int64_t list, const void **data)
{
	type_H5Dwrite_multi next = NEXT(H5Dwrite_multi);
	struct h5_span s = SPAN(next);
	int result = next(count, datasets, types, memory, spaces, list, data);
	h5d_on_transfers(s, IO_WRITE, count, datasets, memory, spaces, list, result);
	return result;
}

/* ---- chunks as they are stored, past filters ---- */

WRAP_LATE(int, H5Dread_chunk, "hdf5", h5_refuse, int64_t dataset, int64_t list, const uint64_t *offset,
	  uint32_t *filters, void *data)
{
	type_H5Dread_chunk next = NEXT(H5Dread_chunk);
	struct h5_span s = SPAN(next);
	int result = next(dataset, list, offset, filters, data);
	h5d_on_operation(s, STATE_OP_HDF5_CHUNK_READ, h5d_chunk_bytes(s, dataset, offset, result), result);
	return result;
}

WRAP_LATE(int, H5Dread_chunk1, "hdf5", h5_refuse, int64_t dataset, int64_t list, const uint64_t *offset,
	  uint32_t *filters, void *data)
{
	type_H5Dread_chunk1 next = NEXT(H5Dread_chunk1);
	struct h5_span s = SPAN(next);
	int result = next(dataset, list, offset, filters, data);
	h5d_on_operation(s, STATE_OP_HDF5_CHUNK_READ, h5d_chunk_bytes(s, dataset, offset, result), result);
	return result;
}

WRAP_LATE(int, H5Dread_chunk2, "hdf5", h5_refuse, int64_t dataset, int64_t list, const uint64_t *offset,
	  uint32_t *filters, void *data, size_t *room)
{
	type_H5Dread_chunk2 next = NEXT(H5Dread_chunk2);
	struct h5_span s = SPAN(next);
	int result = next(dataset, list, offset, filters, data, room);
	h5d_on_operation(s, STATE_OP_HDF5_CHUNK_READ, h5d_chunk_bytes(s, dataset, offset, result), result);
	return result;
}

WRAP_LATE(int, H5Dwrite_chunk, "hdf5", h5_refuse, int64_t dataset, int64_t list, uint32_t filters,
	  const uint64_t *offset, size_t size, const void *data)
{
	type_H5Dwrite_chunk next = NEXT(H5Dwrite_chunk);
	struct h5_span s = SPAN(next);
	int result = next(dataset, list, filters, offset, size, data);
	h5d_on_operation(s, STATE_OP_HDF5_CHUNK_WRITE, (int64_t)size, result);
	return result;
}

/* ---- attributes ---- */

WRAP_LATE(int, H5Aread, "hdf5", h5_refuse, int64_t attribute, int64_t type, void *data)
{
	type_H5Aread next = NEXT(H5Aread);
	struct h5_span s = SPAN(next);
	int result = next(attribute, type, data);
	h5d_on_operation(s, STATE_OP_HDF5_ATTRIBUTE_READ, h5d_attribute_bytes(s, attribute, result), result);
	return result;
}

WRAP_LATE(int, H5Awrite, "hdf5", h5_refuse, int64_t attribute, int64_t type, const void *data)
{
	type_H5Awrite next = NEXT(H5Awrite);
	struct h5_span s = SPAN(next);
	int result = next(attribute, type, data);
	h5d_on_operation(s, STATE_OP_HDF5_ATTRIBUTE_WRITE, h5d_attribute_bytes(s, attribute, result), result);
	return result;
}
