/* Waiting for other ranks: never beyond a deadline, and without taking the processor from the ranks that are waited for. */
#ifndef IOLENS_MPI_DEADLINE_H
#define IOLENS_MPI_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct deadline {
	uint64_t begun; /* ns, monotonic */
	uint64_t until;
	unsigned turn;
};

struct deadline deadline_from_now(double seconds);

/* The same deadline, a new wait. */
void deadline_again(struct deadline *p);

/* Lets others run, then sleeps a little, the longer the wait has been; false when it is over, or a rank on this node has given up before. */
bool deadline_rest(struct deadline *p);

/*
 * Tells the ranks that this one has left without them: on this node by a mark next to the stores, on others by a mark in the
 * directory of the log, which this process removes when it ends. Ranks that come later must not begin to communicate.
 */
void deadline_give_up(uint64_t world);
bool deadline_given_up(void);
bool deadline_given_up_elsewhere(uint64_t world);
void deadline_forget(void);

#endif
