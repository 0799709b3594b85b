/*
 * What a program says it is doing, by names: phases, one in another, and the I/O of each. An access pays two additions for that
 * (struct state_calls in the thread's shard); what a phase has done is the difference of such sums at its end and its beginning.
 */
#ifndef IOLENS_PHASE_STATE_H
#define IOLENS_PHASE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "written.h"

enum { STATE_PHASES = 64, STATE_PHASE_NAME = 64, STATE_STEPS = 256 };

/* Accesses of an interface, by io_op. */
struct state_calls {
	int64_t count[2];
	int64_t bytes[2];
};

struct state_phase_io {
	struct state_calls calls[WRITTEN_COUNT];
	double busy[3];   /* s in I/O, of each thread what overlaps once; by io_op */
	int64_t meta_ops; /* of POSIX and STDIO, by name */
};

/* A phase of one name within another one. Without those within it but for its times. */
struct state_phase {
	char name[STATE_PHASE_NAME];
	int64_t parent; /* row of the phase around it, plus 1; 0 = there is none */
	int64_t count;  /* how often it has ended, */
	int64_t open;   /* and has not */
	double time;    /* s, of those that have ended */
	double shortest, longest;
	double first, last; /* s since the job's start: it began first, ended last */
	double processor;   /* s of its threads on a processor, where that is measured */
	struct state_phase_io io;
};

/* A phase from its beginning to its end, with those within it. Where there is no room, neighbours of one phase are joined. */
struct state_step {
	int64_t phase; /* row */
	int64_t count;
	double start, end;
	double io;        /* s */
	int64_t bytes[2]; /* of the interfaces that reach the operating system */
};

struct state_phases {
	int64_t used;   /* rows */
	int64_t leader; /* row, plus 1, of the threads that have no phase of their own */
	struct state_phase phase[STATE_PHASES];
	int64_t steps;
	struct state_step step[STATE_STEPS];
};

/* Of a thread: what it had done when its phase began or was left last. */
struct state_phase_of_thread {
	int64_t phase; /* row of the innermost one, plus 1; 0 = none of its own */
	struct state_phase_io settled;
};

static inline bool phase_state_begins(const char *name, const char *begin)
{
	size_t n = 0;
	while (begin[n] && name[n] == begin[n])
		n++;
	return !begin[n];
}

/* Of phases of loaders, processor time is measured, too: `loader: next batch`. */
static inline bool phase_state_of_loader(const char *name)
{
	return phase_state_begins(name, "loader: ");
}

/* What a library does in one: `loader: in Zarr`. */
static inline bool phase_state_of_library(const char *name)
{
	return phase_state_begins(name, "loader: in ");
}

/* A loop waits in it, as in all of a loader but what its workers and libraries do. */
static inline bool phase_state_of_wait(const char *name)
{
	static const char work[] = "loader: fetch";
	bool works = phase_state_begins(name, work) && !name[sizeof work - 1];
	return phase_state_of_loader(name) && !works && !phase_state_of_library(name);
}

/* Adds what is between the two. */
void phase_state_add(struct state_phase_io *to, const struct state_phase_io *before, const struct state_phase_io *now);

/* Bytes of the interfaces that reach the operating system, and seconds. */
int64_t phase_state_bytes(const struct state_phase_io *io, int op);
double phase_state_busy(const struct state_phase_io *io);

/* Adds a step; joins others where that needs room. */
void phase_state_step(struct state_phases *p, const struct state_step *s);

/* Joins neighbours until there are at most so many, if that can be. Returns how many there are. */
int64_t phase_state_join(struct state_step *steps, int64_t n, int64_t most);

#endif
