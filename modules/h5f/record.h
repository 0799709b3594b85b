/*
 * What calls on HDF5 files do to their records. The functions return at once for an empty span and for calls that failed, and
 * keep errno.
 */
#ifndef IOLENS_H5F_RECORD_H
#define IOLENS_H5F_RECORD_H

#include "library.h"

struct path;

void h5f_on_open(struct h5_span s, int64_t id, const char *name, int64_t access);

/* Another id of the file that `of` is one of. */
void h5f_on_reopen(struct h5_span s, int64_t id, int64_t of);
void h5f_on_close(struct h5_span s, int64_t id, int result);

/* object: a file, or what is in one. */
void h5f_on_flush(struct h5_span s, int64_t object, int result);

/* The path of the file that an object is in; false if it cannot be had. Outside self_enter, between h5_quiet and h5_loud. */
bool h5f_path_of(struct h5_library *l, int64_t object, struct path *out);

#endif
