/*
 * Looks of other nodes. On each runs an `iolens top --answer`, started through ssh, srun or whatever leads there; it takes a look
 * when it is asked to. So all nodes look at the same moment, and nothing runs on when this end has gone.
 */
#ifndef IOLENS_LIVE_NODES_H
#define IOLENS_LIVE_NODES_H

#include "live_look.h"

struct live_nodes;

/*
 * `list`: names with commas between. `through`: a command of the shell that runs what follows it on the node %h; without %h the
 * name is put behind it. NULL: the error says why.
 */
struct live_nodes *live_nodes_start(const char *list, const char *through, struct log_error *err);
void live_nodes_end(struct live_nodes *n);

/* Nodes of a job of Slurm's, with commas between; false: it knows none. */
bool live_nodes_of_slurm(const char *job, char *list, size_t room);

/*
 * A look of all of them; who has not answered in time, or cannot be reached, has its last one in it, and a word why. Returns how
 * many have answered, or a negative code.
 */
int live_nodes_look(struct live_nodes *n, struct live_look *l, struct live_names *names, struct log_error *err);

/* The other end: a look for each byte that comes, until no more can. Returns 0 or a negative code. */
int live_nodes_answer(int in, int out, struct live_names *names, struct log_error *err);

#endif
