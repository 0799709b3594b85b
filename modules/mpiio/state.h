/* What the MPI-IO module keeps in memory beside the records: never stored. */
#ifndef IOLENS_MPIIO_STATE_H
#define IOLENS_MPIIO_STATE_H

#include "frequent.h"
#include "lock.h"
#include "names.h"
#include "record.h"
#include "records.h"

/* A file: one per record. */
struct mpiio_file {
	struct name *name;
	struct mpiio_record *record;
	struct lock lock;         /* guards the record and the fields below */
	int last_kind;            /* of the last access, -1 = none yet */
	double ended[LIVE_KINDS]; /* end of the latest operation by kind: overlapping ones count once */
	struct frequent access;
};

/* The first half of an access that has two. */
struct mpiio_begun {
	bool on;
	enum live_kind kind;
	int64_t size;
	double start;
};

/* An open file handle. */
struct mpiio_open {
	struct mpiio_file *file;
	struct mpiio_begun split; /* a handle has at most one */
	struct mpiio_open *next_free;
};

/* ---- handles: from the value of an MPI_File to what is open under it; looking up takes no lock ---- */

struct mpiio_open *mpiio_handle_find(uintptr_t handle);

/* NULL when memory is short. */
struct mpiio_open *mpiio_handle_add(uintptr_t handle, struct mpiio_file *f);
void mpiio_handle_remove(uintptr_t handle);
void mpiio_handles_forget(void);

/* ---- records ---- */

void mpiio_stamp(double *first, double *last, double start, double end);

/* Adds [start, end] to one of the record's timers, what overlaps with earlier operations only once. */
void mpiio_time(struct mpiio_file *f, enum live_kind kind, double start, double end);

/* Counts an operation by name in the thread's shard. Inside self_enter. */
void mpiio_count_operation(enum live_operation_id operation, bool failed, int64_t bytes, double time);

/*
 * Counts the second half of an access in the thread's shard: bytes that it moved or a value of mpi_moved, seconds in the call
 * that completed it, when.
 */
void mpiio_complete(enum live_way way, const struct mpiio_begun *b, int64_t moved, double wait, double end);
void mpiio_timeline(enum live_kind kind, double start, double end);

/* ---- requests ---- */

/* Remembers what was posted as *request. Inside self_enter. */
void mpiio_request_add(const void *request, struct mpiio_begun posted);
void mpiio_requests_forget(void);

#endif
