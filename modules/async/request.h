/*
 * Requests of libaio and io_uring that are in flight: what they move is known when they complete, what they are and whose
 * file it is when they are submitted.
 */
#ifndef IOLENS_ASYNC_REQUEST_H
#define IOLENS_ASYNC_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "fds.h"
#include "process_state.h"

enum {
	ASYNC_FIXED_FILE = 1,
	ASYNC_FIXED_BUFFER = 2,
	ASYNC_FLUSH = 4, /* moves nothing: fsync, fdatasync */
	ASYNC_DATA_ONLY = 8,
	ASYNC_ESTIMATED = 16, /* one that stands for others of its ring */
	ASYNC_APPEND = 32,    /* at the end of the file, whatever its offset */
	ASYNC_OPEN = 64,      /* moves nothing: its result is a descriptor */
	ASYNC_MAKE = 128      /* the same, of something that is no file */
};

enum { ASYNC_CALL_FILES = 8 };

struct async_request {
	uintptr_t owner;  /* of the queue */
	uint64_t key;     /* what its completion says */
	struct span span; /* of its file; start: when it was submitted */
	int64_t offset;
	int64_t bytes;      /* requested, 0 = not known */
	const void *buffer; /* NULL = not known, or several */
	uint8_t interface;  /* enum state_async_id */
	uint8_t op;         /* enum io_op; IO_META: from descriptor to descriptor, read and written */
	uint8_t flags;
};

/*
 * A call of the program that submits requests or learns of results: requests share its time. Between async_call_begin and
 * async_call_end; `interface` is of all of them.
 */
struct async_call {
	enum state_async_id interface;
	double start;
	double end;
	int64_t submitted;
	bool flushed;
	int64_t requests[2]; /* by io_op: submitted and completed */
	int files;           /* that it submitted requests for: the first ones */
	struct {
		uintptr_t at;
		uint8_t op;
	} file[ASYNC_CALL_FILES];
};

struct async_call async_call_begin(enum state_async_id interface);

/* After the library's function: what follows is looked at when the call is over. */
void async_call_returned(struct async_call *c);
void async_call_end(struct async_call *c);

/* One that is submitted, or about to be. */
void async_submitted(struct async_call *c, const struct async_request *r);

/* It was not accepted after all. */
void async_refused(struct async_call *c, uintptr_t owner, uint64_t key);

/* One that ended with `result` bytes or an error; `more` completions of it are to come. Unknown ones are not counted. */
void async_completed(struct async_call *c, uintptr_t owner, uint64_t key, int64_t result, bool more);

/* An owner goes: what is still in flight counts as requested. 0 = all owners. */
void async_settle(uintptr_t owner);

/* Operations of which only the number and what one of them was are known: `at` is the entry of its descriptor. */
void async_sampled(const struct async_request *r, int64_t times);

/* ---- libaio ---- */

/* Before and after io_submit: a request may complete, and its block be gone, before the call returns. */
void libaio_submit(struct async_call *c, const void *context, long n, void *const *blocks);
void libaio_submitted(struct async_call *c, const void *context, long n, void *const *blocks, long accepted);
void libaio_completed(struct async_call *c, const void *context, const void *events, long n);

/* ---- io_uring ---- */

/* liburing's ring before a call that submits: what is prepared. And after one that submits or waits: what is new in its queues. */
void uring_submitting(struct async_call *c, const void *ring);
void uring_look(struct async_call *c, const void *ring);
void uring_exit(const void *ring);
int uring_descriptor(const void *ring);

/* Its table of files: `n` descriptors from place `first` on, -1 = none; NULL: the table goes. */
void uring_files(const void *ring, unsigned first, const int *fds, unsigned n);

#endif
