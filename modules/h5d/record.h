/*
 * What calls on HDF5 datasets do to their records. The functions return at once for an empty span and for calls that failed,
 * and keep errno.
 */
#ifndef IOLENS_H5D_RECORD_H
#define IOLENS_H5D_RECORD_H

#include "../h5f/library.h"
#include "clock.h"
#include "process_state.h"

/* A dataset was created or opened. deprecated: by a call of HDF5 1.6. */
void h5d_on_open(struct h5_span s, int64_t id, bool created, bool deprecated);

/* An object of any kind was opened. */
void h5d_on_object(struct h5_span s, int64_t id);

void h5d_on_flush(struct h5_span s, int64_t id, int result);
void h5d_on_close(struct h5_span s, int64_t id, int result);

/* An object has a name from now on: what was done to a dataset before is recorded. */
void h5d_on_link(struct h5_span s, int64_t id, int result);

/* Its extent has changed. */
void h5d_on_extent(struct h5_span s, int64_t id, int result);

/* A dataspace was made of it. The library may be NULL: do not record. */
void h5d_on_space(struct h5_library *l, int64_t dataset, int64_t space);

/* One dataset's part of a transfer. */
struct h5d_transfer {
	int64_t dataset, memory, space, list;
};

/* A transfer that ended well at `end`. */
void h5d_transfer(struct h5_span s, enum io_op op, const struct h5d_transfer *t, double end);

static inline void h5d_on_transfer(struct h5_span s, enum io_op op, struct h5d_transfer t, int result)
{
	if (s.library && result >= 0)
		h5d_transfer(s, op, &t, clock_now());
}

/* With an event set: a dataset that was never looked at is not looked at now. */
void h5d_on_posted(struct h5_span s, enum io_op op, struct h5d_transfer t, int64_t events, int result);

/* A transfer of several datasets at once: time is shared evenly. */
void h5d_on_transfers(struct h5_span s, enum io_op op, size_t count, const int64_t *datasets, const int64_t *memory,
		      const int64_t *spaces, int64_t list, int result);

/* What is counted by name: attributes and raw chunks. */
void h5d_on_operation(struct h5_span s, enum state_operation_id operation, int64_t bytes, int result);

/* Bytes of an attribute, of a chunk as it is stored; 0 if they cannot be had. */
int64_t h5d_attribute_bytes(struct h5_span s, int64_t attribute, int result);
int64_t h5d_chunk_bytes(struct h5_span s, int64_t dataset, const uint64_t *offset, int result);

#endif
