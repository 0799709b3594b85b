/* What the module keeps in memory: the phases that each thread is in. All of it is under one lock. */
#ifndef IOLENS_PHASES_STATE_H
#define IOLENS_PHASES_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "process_state.h"
#include "store.h"

enum { DEEP = 16, OPENED = 8, CHECKPOINT_PARTS = 2 };

struct frame {
	uint64_t name;  /* its hash: the row may be that of many */
	const void *of; /* what may end it; NULL: any caller with its id */
	uint64_t id;
	int row;
	bool wait; /* of a loop for its loader */
	bool library;
	double start;
	double processor; /* s that the thread had been on a processor; -1 = not asked */
	double io;
	int64_t bytes[2];
};

/* A file that a thread has opened since its loop's last wait; 0 = none. */
struct opened {
	uint64_t file; /* id of its record */
	double start, processor;
	bool written;
};

/* Calls of one kind. */
struct done {
	int64_t count;
	double time;
};

/*
 * What a loop's thread writes between two waits to files that it opens there: while such a file is open, and until the last fsync or
 * rename behind it. Only its thread changes it.
 */
struct checkpoint {
	bool between; /* two waits; else nothing of this holds */
	bool begun;   /* a file is being written, */
	bool large;   /* with so much that it is in the table, or the last one was */
	int row;      /* of its phase, plus 1; 0 = none was large since the wait */
	int opened;
	struct opened file[OPENED]; /* the last ones */
	double start, end, time;    /* s; time: without what lies between its files */
	double counted;             /* s: up to here it is in the table; */
	double processor;           /* s of the thread then, -1 = not known; */
	struct done done[CHECKPOINT_PARTS];
	int64_t renames, closes; /* when a call was looked at last */
};

/* Of a thread, by its shard. */
struct stack {
	int depth;
	int beyond; /* phases for which there was no room */
	struct frame frame[DEEP];
	struct checkpoint checkpoint;
};

/* STATE_SHARDS of them, from the first phase on. A thread that ends asks without the lock whether there are any: its own phases made them. */
extern struct stack *phase_stacks __attribute__((visibility("hidden")));
extern struct lock phase_lock __attribute__((visibility("hidden")));

/* Of a thread's stack. */
static inline int phase_number(const struct state_shard *s)
{
	return (int)(s - store_state()->shard);
}

/* The rest holds the lock. */

bool phase_have_room(void);
struct state_phases *phase_table(void);

/* Row of a phase by its name and the row around it, plus 1. The last row is that of all for which there is none. */
int phase_row(const char *name, int64_t parent);

/* What a thread has done since goes to its phase, or to that of the leader; outside of all, nowhere. */
void phase_settle(struct state_shard *s);

/* Before the innermost phase of a thread changes: its own, and as the leader that of all others. */
void phase_settle_before(struct state_shard *mine);
void phase_change(struct state_shard *mine);

/* s of the calling thread, -1 = not to be asked: a system call, which costs as much as all else. */
double phase_processor(void);

#endif
