/*
 * Which calls take the clock. Reading it twice costs more than all else that is done to a cached access, so a thread whose
 * calls on a descriptor are all fast and follow each other closely takes it for one call in about 16. Each timed call bounds
 * what those before it took: they lie between it and the timed call before. Where more time has passed than they take, one
 * may have waited, or the program did something else: that is doubtful, and all calls take the clock again. How much may be
 * doubtful is bounded (docs/decisions/0043-sampled-times.md).
 */
#ifndef IOLENS_SAMPLING_H
#define IOLENS_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "fds.h"
#include "process_state.h"

/* Longer is slow: one call, or what the program does between two. */
#define SAMPLING_SLOW 50e-6 /* s */

/* Calls of one kind of the calling thread on one descriptor. */
struct sampling {
	uint64_t id;     /* of the open (struct fds_open); 0 = none */
	uint32_t drawn;  /* calls between the last timed one and the next; 0 = all are timed */
	uint32_t left;   /* of these, still to come */
	int64_t largest; /* bytes; what is larger takes the clock */
	double ended;    /* s: the last timed call */
	double began;    /* s: the first of `calls` */
	double busy;     /* s in `calls` timed ones; where not all are timed: that of one, on average */
	double rest; /* s that did not fit between two timed calls: some of those before were fast, later ones are not */
	double period;  /* s from one call to the next, where not all are timed */
	uint32_t calls; /* timed and fast, one after the other */
	uint32_t outer; /* self.outer at the last timed call */
	uint32_t waits; /* self.waits at `began` */

	/* Of all descriptors that had this place, s. */
	double total;    /* in calls */
	double doubtful; /* in which calls that took no clock may have waited */
	double slow;     /* in slow calls */
	double paused;   /* in slow moments between calls, while all of these were timed */
	int doubts;      /* since the last slow moment that was either */
} __attribute__((aligned(64)));

enum { SAMPLING_NEEDED = 1024 }; /* timed and fast calls in a row, before not all are timed */

/* One per thread, next to its shard: thread-local memory would lie on its stack. */
struct sampling_table {
	struct sampling kind[IO_OPS][STATE_RUNS];
	uint32_t random;
};

/* NULL: the thread times all calls. */
static inline struct sampling *sampling_of(int fd, enum io_op op)
{
	struct sampling_table *t = self.sampling;
	return t ? &t->kind[op][(unsigned)fd % STATE_RUNS] : NULL;
}

static inline bool sampling_is(const struct sampling *k, struct span s)
{
	return k->id == ((const struct fds_open *)s.at)->id;
}

/*
 * True: this call, which moves up to `bytes` in the open description `at`, takes no clock. Then it is one less. Nothing is
 * called here.
 */
static inline bool sampling_leaves_out(uintptr_t at, int fd, enum io_op op, size_t bytes)
{
	struct sampling *k = sampling_of(fd, op);
	if (!k || !k->left || !sampling_is(k, (struct span){.at = at}) || (int64_t)bytes > k->largest)
		return false;
	k->left--;
	return true;
}

/* The start of one of many equal calls, which moves up to `bytes`. */
static inline __attribute__((always_inline)) struct span span_sampled(int fd, enum io_op op, size_t bytes)
{
	bool admitted = __builtin_expect(self.gate == self_pass(), 1);
	struct span s = {.fd = fd, .at = admitted ? fds_get_shared(fd) : fds_asked(fd)};
	if (!span_tracked(s))
		return s;
	s.untimed = sampling_leaves_out(s.at, fd, op, bytes);
	if (!s.untimed)
		s.start = clock_now();
	return s;
}

/* Calls that took no clock: some `busy` seconds long together, within [from, until]. */
struct sampled {
	double from, until, busy; /* s */
	bool inner;               /* other calls that have ended since `from` hold them, as MPI-IO's */
};

/* The calls before one that began at `start`; false: there are none. They are given out once. Inside self_enter. */
bool sampling_take(struct span s, enum io_op op, double start, struct sampled *before);

/* How many calls the next timed one stands for, itself included. */
static inline uint32_t sampling_stands_for(const struct sampling *k, struct span s)
{
	return k && sampling_is(k, s) ? 1 + k->drawn - k->left : 1;
}

/* True where not all calls are timed. */
static inline bool sampling_on(const struct sampling *k)
{
	return k && k->drawn;
}

/* A call that took the clock has ended: what the next ones do. */
void sampling_learn(struct sampling *k, struct span s, int64_t bytes, double end);

static inline void sampling_timed(struct sampling *k, struct span s, int64_t bytes, double end)
{
	double took = end - s.start;
	if (!k)
		return;
	bool usual = sampling_is(k, s) && !k->drawn && k->calls < SAMPLING_NEEDED && bytes <= k->largest;
	if (__builtin_expect(usual && took < SAMPLING_SLOW && s.start - k->ended < SAMPLING_SLOW, 1)) {
		k->calls++;
		k->busy += took;
		k->ended = end;
	} else {
		sampling_learn(k, s, bytes, end);
	}
}

/* Threads may be in Python code: those that get a shard are `lined`. */
extern bool sampling_lined __attribute__((visibility("hidden")));

/* Once, before threads record. */
void sampling_start(void);

/* The thread has got this shard of a store; it may share it with others. */
void sampling_adopt(int shard);

#endif
