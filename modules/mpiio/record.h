/*
 * What the operations on MPI files do to MPI-IO records. Sizes are what a call asks for, count times
 * size of the data type: what a collective read really got, no status tells before it is complete.
 *
 * All mpiio_on_ functions return at once for an empty span.
 */
#ifndef IOLENS_MPIIO_RECORD_H
#define IOLENS_MPIIO_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"
#include "thread.h"

struct mpiio_open;
struct mpiio_posted;
struct path;

/* An operation that is being watched. */
struct mpiio_span {
	struct mpiio_open *open; /* NULL: the handle has no record */
	bool on;
	double start; /* s */
};

/* The start of an operation on a handle. Empty for a handle without a record. */
struct mpiio_span mpiio_span_file(uintptr_t handle);

/* The start of an operation that needs no record: an open, a delete. */
struct mpiio_span mpiio_span(void);

/* Like mpiio_span_file; from here on the handle is unknown. */
struct mpiio_span mpiio_span_close(uintptr_t handle);

/*
 * Before an access of a process that traces: where in the file it will begin. `at` is its offset in the view, NULL where that
 * is the file pointer's; a shared pointer is not read, since other ranks move it.
 */
void mpiio_ask_offset(struct mpiio_span s, uintptr_t handle, const int64_t *at);
void mpiio_forget_offset(void);

static inline void mpiio_locate(struct mpiio_span s, uintptr_t handle, const int64_t *at)
{
	if (__builtin_expect(self.special, 0))
		mpiio_ask_offset(s, handle, at);
}

static inline void mpiio_locate_shared(void)
{
	if (__builtin_expect(self.special, 0))
		mpiio_forget_offset();
}

/* An access or the first half of one that returned `code`: `count` elements of `type`. */
void mpiio_access(struct mpiio_span s, enum access_mode mode, enum io_op op, int64_t count, uintptr_t type);

static inline void mpiio_on_access(struct mpiio_span s, enum access_mode mode, enum io_op op, int64_t count,
				   uintptr_t type, int code)
{
	if (s.open && !code)
		mpiio_access(s, mode, op, count, type);
}

enum { MPIIO_STATUS_ROOM = 64 }; /* words: of sixteen statuses and more */

/* What to give the real call for `status`: the same, or room of ours (of one status) where the program ignores it. */
void *mpiio_status(struct mpiio_span s, int64_t *room, void *status);

/* The second half of a split collective access. */
void mpiio_on_end(struct mpiio_span s, const void *status, int code);

/* A non-blocking access was posted as *request. */
void mpiio_on_post(struct mpiio_span s, enum io_op op, int64_t count, uintptr_t type, const void *request, int code);

/* The path of the file that the MPI opens under a name, which may begin with a file system's. Inside self_enter. */
bool mpiio_path(struct path *out, const char *name);

void mpiio_on_open(struct mpiio_span s, uintptr_t handle, uintptr_t communicator, const char *name, int mode,
		   uintptr_t info, int code);
void mpiio_on_close(struct mpiio_span s, int code);
void mpiio_on_set_view(struct mpiio_span s, uintptr_t info, int code);
void mpiio_on_sync(struct mpiio_span s, int code);

/* An operation that has ended, counted by name: most have no counter in the log. Returns its end, 0 for an empty span. */
double mpiio_on_operation(struct mpiio_span s, enum state_operation_id operation, int64_t bytes, int code);

/* ---- requests: what Wait and Test calls complete ---- */

/* Non-blocking accesses whose completion was not seen yet: the only cost of a program's other requests. */
extern int mpiio_pending __attribute__((visibility("hidden")));

/* A Wait or Test call that may complete some of ours. Only `marked` is set while there are none. */
struct mpiio_wait {
	struct mpiio_posted *marked;
	double start;
	void *statuses; /* what the MPI was given for them */
	size_t mapped;  /* bytes of a mapping of our own for them, 0 = none */
	int64_t room[MPIIO_STATUS_ROOM];
};

/* What a call says about its requests. */
struct mpiio_said {
	int code;
	bool one;                  /* it completes one of them at most, to which its status belongs */
	const int *done, *indices; /* the i-th status is that of request indices[i]; NULL: the i-th request's */
	int count;                 /* room there is for indices; after an error *done may be anything */
};

void mpiio_wait_look(struct mpiio_wait *w, const void *requests, int64_t count);
void *mpiio_wait_statuses(struct mpiio_wait *w, int64_t count, void *statuses);
bool mpiio_wait_seen(struct mpiio_wait *w, struct mpiio_said said);
void mpiio_request_freed(const void *request);

/* Before the real call, which overwrites the requests that it completes. */
static inline void mpiio_wait(struct mpiio_wait *w, const void *requests, int64_t count)
{
	w->marked = NULL;
	if (__builtin_expect(__atomic_load_n(&mpiio_pending, __ATOMIC_RELAXED), 0))
		mpiio_wait_look(w, requests, count);
}

/* What to give the real call for `statuses`: the same, or room of ours where the program ignores them. */
static inline void *mpiio_statuses(struct mpiio_wait *w, int64_t count, void *statuses)
{
	return __builtin_expect(w->marked != NULL, 0) ? mpiio_wait_statuses(w, count, statuses) : statuses;
}

/* True when it completed some: its time is that of accesses. */
static inline bool mpiio_on_wait(struct mpiio_wait *w, struct mpiio_said said)
{
	return __builtin_expect(w->marked != NULL, 0) && mpiio_wait_seen(w, said);
}

/* Before a request is freed: its completion will not be seen. */
static inline void mpiio_on_free(const void *request)
{
	if (__builtin_expect(__atomic_load_n(&mpiio_pending, __ATOMIC_RELAXED), 0))
		mpiio_request_freed(request);
}

#endif
