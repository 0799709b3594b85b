/*
 * One look at all stores of this user on this node (root: of all users). Where stores are: in the directories of sessions, of MPI
 * jobs and of processes without either, below the places where sessions are made.
 */
#ifndef IOLENS_LIVE_LOOK_H
#define IOLENS_LIVE_LOOK_H

#include "live_store.h"

/* A node that was asked for its part of the look. */
struct live_node {
	char name[72];
	char problem[200]; /* why it has not answered; "" = it has */
};

struct live_look {
	struct live_store *stores; /* in order of their paths; those of another node are NODE:PATH */
	size_t n;
	struct live_node *nodes; /* none = this node alone */
	size_t nnodes;
	size_t unreadable; /* stores of another version of iolens, or damaged */
	double at;         /* s, of the monotonic clock */
	double now;        /* s since 1970 */
};

/* Adds an empty store at the end; NULL = no memory. Afterwards, and once for all: in order. */
struct live_store *live_look_add(struct live_look *l);
void live_look_sort(struct live_look *l);

int live_look_take(struct live_look *l, struct live_names *names, struct log_error *err);
void live_look_free(struct live_look *l);

/* Says that none of these belongs to the job that a command was asked for, and who may see more. Returns CLI_INPUT. */
int live_look_missed(const char *command, const char *wanted);

/* The same store in another look; NULL = it was not there. */
const struct live_store *live_look_find(const struct live_look *l, const char *path);

#endif
