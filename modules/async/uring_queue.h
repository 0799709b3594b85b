/* The two queues of a ring: requests and completions, as the kernel lays them out, and what is new in them. */
#ifndef IOLENS_ASYNC_URING_QUEUE_H
#define IOLENS_ASYNC_URING_QUEUE_H

#include "request.h"

struct uring_request {
	uint8_t operation, flags;
	uint16_t priority;
	int32_t fd;
	uint64_t offset, address;
	uint32_t length, operation_flags;
	uint64_t key;
	uint16_t buffer_index, personality;
	uint32_t file_index;
	uint64_t rest[2];
};

struct uring_completion {
	uint64_t key;
	int32_t result;
	uint32_t flags;
};

enum { URING_NO_ARRAY = 1 << 16 }; /* a flag of rings: requests are taken in the order of their places */

/* A ring's queues, wherever they lie. */
struct uring_queues {
	uintptr_t owner;
	const uint32_t *array; /* place in the queue -> request; NULL = the same */
	uint32_t request_mask, completion_mask, flags;
	const struct uring_request *requests;
	const struct uring_completion *completions;
};

/* Registered files: their entries, which stay when the descriptors are closed. */
struct uring_files {
	uintptr_t *at;
	unsigned room;
};

/* How far the queues have been looked at; requests also ahead of the kernel. */
struct uring_seen {
	uint32_t requests, completions;
};

/* False for an operation that neither moves bytes nor makes them durable, nor gives a descriptor. */
bool uring_describe(const struct uring_request *q, const struct uring_files *files, struct async_request *r);

/*
 * Requests from one number to another, which are about to be submitted: once the kernel has taken one, the program, or another of
 * its threads, may use its place again.
 */
void uring_look_ahead(struct async_call *c, const struct uring_queues *r, struct uring_files *files, uint32_t from,
		      uint32_t to);

/* How far requests have been looked at when the kernel has come to `now`: it may be behind. */
static inline uint32_t uring_further(uint32_t seen, uint32_t now)
{
	return (int32_t)(now - seen) > 0 ? now : seen;
}

/* What came between. */
void uring_look_new(struct async_call *c, const struct uring_queues *r, struct uring_files *files,
		    struct uring_seen was, struct uring_seen now);

/* `n` descriptors are registered from place `first` on; below 0 = none. */
void uring_set_files(struct uring_files *f, unsigned first, const int *fds, unsigned n);
void uring_drop_files(struct uring_files *f);

#endif
