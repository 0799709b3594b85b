/*
 * What the ranks of one node share while they make their log: a small file in /dev/shm, wherever their stores are. It tells
 * how many have come, what has become of the log, and behind that the path of every store, a line each. Waiting ranks
 * sleep in the kernel.
 */
#ifndef IOLENS_MPI_NODE_H
#define IOLENS_MPI_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deadline.h"

enum node_outcome {
	NODE_OPEN,   /* not all have come */
	NODE_MAKING, /* the last one makes the log */
	NODE_MADE,
	NODE_KEPT, /* the log could not be written: the stores are kept */
	NODE_LEFT, /* a rank has left before the last one came */
};

/* False when that cannot be: no rank can then know of this one. */
bool node_enter(uint64_t meeting);

/* Before node_come. *order: how many are before it. */
bool node_register_store(const char *path, uint32_t *order);

/* The path of a store that was registered, by its order: 0 or 1; "" = not there yet. */
void node_store(uint32_t order, char *path, size_t room);

/* For the first: sleeps until there is a second. */
bool node_await_second(const struct deadline *p);

/* Likewise when it has none to register, against its will. */
void node_lack_store(void);

/* The number of ranks that lack a store. */
uint32_t node_lacking(void);

/* This rank is there; true when it is the last of `ranks`: the log is its to make. */
bool node_come(int64_t ranks);

/* Every registered store; node_forget_stores frees them. */
char **node_stores(size_t *n);

void node_forget_stores(char **paths, size_t n);

/* This rank cannot take part: there will be no log now. True when no rank has left before. */
bool node_give_up(void);

/* Where one rank of the node makes the log: it waits for the others, and the last one to come calls it. */
bool node_await_all(const struct deadline *p);
void node_call(void);

/* By the rank that makes the log. */
void node_settle(enum node_outcome outcome);

/*
 * By the others: waits for the outcome, polling first where each rank of the node has a processor. NODE_OPEN and NODE_MAKING mean
 * that the deadline has passed: this rank has left, as the first or not, and the others see it.
 */
enum node_outcome node_await(const struct deadline *p, bool *first_to_leave);

/* The file goes with the last one that does. */
void node_leave(void);

/* Where no rank waits: the file goes with the one that has made the log. */
void node_pass(bool done);

/* Before node_come: no rank waits for this one. */
void node_abandon(void);

#endif
