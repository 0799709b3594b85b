/* Waiting for other ranks: never beyond a deadline, and without taking the processor from whom we wait for. */
#ifndef IOLENS_MPI_PATIENCE_H
#define IOLENS_MPI_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct patience {
	uint64_t begun; /* ns, monotonic */
	uint64_t until;
	unsigned turn;
};

struct patience patience_from_now(double seconds);

/* The same deadline, a new wait. */
void patience_again(struct patience *p);

/* Sleeps a little, the longer the wait has been; false when it is over, or a rank on this node has given up before. */
bool patience_rest(struct patience *p);

/*
 * Tells the ranks that this one has left without them: on this node by a mark beside the stores, on others by one in the
 * directory of the log, which is taken away when this process ends. Who comes later must not begin to communicate.
 */
void patience_give_up(uint64_t world);
bool patience_given_up(void);
bool patience_given_up_elsewhere(uint64_t world);
void patience_forget(void);

#endif
