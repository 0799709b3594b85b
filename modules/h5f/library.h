/*
 * HDF5 as a program has it: none at build time, one or several copies at run time (a wheel brings its own), of any release
 * from 1.8 to 2.x. What is asked of a copy are functions that change nothing; they are called after a call of the
 * program has succeeded, in its own thread, so that its errors stay what they are.
 */
#ifndef IOLENS_H5F_LIBRARY_H
#define IOLENS_H5F_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "handles.h"
#include "resolve.h"

/*
 * hid_t has 64 bits since 1.10 and had 32 before. Both are passed in a register, so that wrappers pass on what they got;
 * h5_id() is what it means.
 */
#define H5_FUNCTIONS(X)                                                                             \
	X(int, H5get_libversion, (unsigned *, unsigned *, unsigned *))                              \
	X(int, H5Eget_auto2, (int64_t, void **, void **))                                           \
	X(int, H5Eset_auto2, (int64_t, void *, void *))                                             \
	X(int, H5Fclose, (int64_t))                                                                 \
	X(ssize_t, H5Fget_name, (int64_t, char *, size_t))                                          \
	X(int64_t, H5Iget_file_id, (int64_t))                                                       \
	X(ssize_t, H5Iget_name, (int64_t, char *, size_t))                                          \
	X(int, H5Iget_type, (int64_t))                                                              \
	X(int64_t, H5Pget_driver, (int64_t))                                                        \
	X(int, H5Pget_layout, (int64_t))                                                            \
	X(int, H5Pget_chunk, (int64_t, int, uint64_t *))                                            \
	X(int, H5Pclose, (int64_t))                                                                 \
	X(int64_t, H5Dget_space, (int64_t))                                                         \
	X(int64_t, H5Dget_type, (int64_t))                                                          \
	X(int64_t, H5Dget_create_plist, (int64_t))                                                  \
	X(size_t, H5Tget_size, (int64_t))                                                           \
	X(int, H5Tclose, (int64_t))                                                                 \
	X(int, H5Sclose, (int64_t))                                                                 \
	X(int64_t, H5Sget_simple_extent_npoints, (int64_t))                                         \
	X(int, H5Sget_simple_extent_ndims, (int64_t))                                               \
	X(int64_t, H5Sget_select_npoints, (int64_t))                                                \
	X(int, H5Sget_select_type, (int64_t))                                                       \
	/* From here on: not in every release, or in parallel builds alone. */                      \
	X(int, H5Sis_regular_hyperslab, (int64_t))                                                  \
	X(int, H5Sget_regular_hyperslab, (int64_t, uint64_t *, uint64_t *, uint64_t *, uint64_t *)) \
	X(int, H5Pget_dxpl_mpio, (int64_t, int *))                                                  \
	X(int64_t, H5FD_mpio_init, (void))                                                          \
	X(uint64_t, H5Aget_storage_size, (int64_t))                                                 \
	X(int, H5Dget_chunk_storage_size, (int64_t, const uint64_t *, uint64_t *))                  \
	X(int, H5Dflush, (int64_t))

/* What is kept of an open file or dataset. */
struct h5_open {
	struct handle handle;
	void *file;                     /* the module's */
	int64_t element_size, elements; /* of a dataset */
	int dimensions;
	struct h5d_unnamed *unnamed; /* of a dataset without a name: what it waits with */
};

/* One copy of HDF5 in this process. */
struct h5_library {
	struct resolve_copied copied;
	bool narrow; /* hid_t has 32 bits */
	struct handles files, datasets;
	H5_FUNCTIONS(RESOLVE_POINTER)
};

/* In a forked child: nothing is known to be open. */
void h5_libraries_forget(void);

static inline int64_t h5_id(const struct h5_library *l, int64_t id)
{
	return l->narrow ? (int32_t)id : id;
}

/* A call that is being watched. */
struct h5_span {
	struct h5_library *library; /* NULL: do not record */
	double start;               /* s */
};

enum { H5_MOST_DIMENSIONS = 32 };

/* The copy that `function`, the real one, is of. NULL: do not record for this module of the log. */
struct h5_library *h5_library(int module, const void *function);

/* The start of a call of it. */
struct h5_span h5_span(int module, const void *function);

/* What the asynchronous functions have in front: where they are called from. */
#define H5_CALLER      const char *file_, const char *function_, unsigned line_
#define H5_CALLER_ARGS file_, function_, line_

#define H5_CALL(type, result, symbol, parameters, arguments, after) \
	WRAP_LATE_CALL(type, result, symbol, "hdf5", h5_refuse, struct h5_span, parameters, arguments, after)

/* Errors of what is asked between these are not printed. */
struct h5_quiet {
	void *function, *data;
};

struct h5_quiet h5_quiet(struct h5_library *l);
void h5_loud(struct h5_library *l, struct h5_quiet before);

/* What a wrapper answers where there is no HDF5: failure. */
long h5_refuse(void);

#endif
