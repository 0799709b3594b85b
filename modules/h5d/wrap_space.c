/* Calls that change a selection, or make and close a dataspace: a transfer then need not ask HDF5 what it selects. */
#include "record.h"
#include "schema.h"
#include "selection.h"
#include "wrap.h"

#define LIBRARY(next) h5_library(LOG_MOD_H5D, (const void *)(next))

/* ---- new ones ---- */

WRAP_LATE(int64_t, H5Screate_simple, "hdf5", h5_refuse, int dimensions, const uint64_t *sizes, const uint64_t *most)
{
	type_H5Screate_simple next = NEXT(H5Screate_simple);
	int64_t space = next(dimensions, sizes, most);
	selection_on_create(LIBRARY(next), space, dimensions, sizes);
	return space;
}

WRAP_LATE(int64_t, H5Scopy, "hdf5", h5_refuse, int64_t from)
{
	type_H5Scopy next = NEXT(H5Scopy);
	int64_t space = next(from);
	selection_on_copy(LIBRARY(next), space, from);
	return space;
}

WRAP_LATE(int64_t, H5Dget_space, "hdf5", h5_refuse, int64_t dataset)
{
	type_H5Dget_space next = NEXT(H5Dget_space);
	int64_t space = next(dataset);
	h5d_on_space(LIBRARY(next), dataset, space);
	return space;
}

/* ---- another selection ---- */

WRAP_LATE(int, H5Sselect_hyperslab, "hdf5", h5_refuse, int64_t space, int operation, const uint64_t *start,
	  const uint64_t *stride, const uint64_t *count, const uint64_t *block)
{
	type_H5Sselect_hyperslab next = NEXT(H5Sselect_hyperslab);
	int result = next(space, operation, start, stride, count, block);
	selection_on_hyperslab(LIBRARY(next), space, &(struct hyperslab){operation, stride, count, block}, result);
	return result;
}

/* The call, and what it has made of the dataspace. */
#define AFTER(on, symbol, parameters, arguments)                          \
	WRAP_LATE(int, symbol, "hdf5", h5_refuse, WRAP_UNPACK parameters) \
	{                                                                 \
		type_##symbol next = NEXT(symbol);                        \
		int result = next arguments;                              \
		on(LIBRARY(next), space);                                 \
		return result;                                            \
	}

#define CHANGE(symbol, parameters, arguments)  AFTER(selection_on_change, symbol, parameters, arguments)
#define REPLACE(symbol, parameters, arguments) AFTER(selection_on_close, symbol, parameters, arguments)

CHANGE(H5Sselect_elements, (int64_t space, int operation, size_t count, const uint64_t *points),
       (space, operation, count, points))
CHANGE(H5Sselect_all, (int64_t space), (space))
CHANGE(H5Sselect_none, (int64_t space), (space))
CHANGE(H5Sselect_copy, (int64_t space, int64_t from), (space, from))
CHANGE(H5Smodify_select, (int64_t space, int operation, int64_t other), (space, operation, other))

/* ---- another dataspace under the same number, or none ---- */

REPLACE(H5Sset_extent_simple, (int64_t space, int dimensions, const uint64_t *sizes, const uint64_t *most),
	(space, dimensions, sizes, most))
REPLACE(H5Sset_extent_none, (int64_t space), (space))
REPLACE(H5Sextent_copy, (int64_t space, int64_t from), (space, from))
REPLACE(H5Sclose, (int64_t space), (space))

WRAP_LATE(int, H5close, "hdf5", h5_refuse, void)
{
	type_H5close next = NEXT(H5close);
	int result = next();
	selection_on_end(LIBRARY(next));
	return result;
}
