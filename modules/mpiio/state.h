/* What the MPI-IO module keeps in memory in addition to the records: never stored. */
#ifndef IOLENS_MPIIO_STATE_H
#define IOLENS_MPIIO_STATE_H

#include "file.h"
#include "frequent.h"
#include "handles.h"
#include "record.h"

/* A file: one per record. */
struct mpiio_file {
	FILE_HEAD(struct mpiio_record);
	int last_op; /* of the last access, -1 = none yet */
	struct frequent access;
};

/* The first half of an access that has two. */
struct mpiio_begun {
	bool on;
	enum io_op op;
	int64_t size;
	double start;
};

/* An open file handle. */
struct mpiio_open {
	struct handle handle;
	struct mpiio_file *file;
	struct mpiio_begun split; /* a handle has at most one */
};

/* ---- records ---- */

/*
 * Counts the second half of an access in the thread's shard: bytes that it moved or a value of mpi_moved, seconds in the call
 * that completed it, when.
 */
void mpiio_complete(enum access_mode mode, const struct mpiio_begun *b, int64_t moved, double wait, double end);
void mpiio_timeline(enum io_op op, double start, double end);

/* ---- requests ---- */

/* Remembers what was posted as *request. Inside self_enter. */
void mpiio_request_add(const void *request, struct mpiio_begun posted);
void mpiio_requests_forget(void);

#endif
