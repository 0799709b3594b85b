/*
 * Which ranks are on one node: those that share a kernel, a host name and the directory in which they meet. A container with
 * a /dev/shm of its own is a node of its own. The first rank of a node leads it.
 */
#ifndef IOLENS_MPI_NODE_MAP_H
#define IOLENS_MPI_NODE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node_map {
	int64_t nodes;   /* in order of their first ranks */
	int64_t mine;    /* the number of this rank's node */
	int64_t *leader; /* rank of each node's first rank */
	int64_t *ranks;  /* of this rank's node, in order */
	size_t nranks;
};

/* The name of this rank's node, never 0. IOLENS_FINALIZE=messages-apart=N or mpiio-apart=N makes nodes of N ranks, for tests. */
uint64_t node_map_name(int64_t rank);

/* From the names of all ranks' nodes; a name of 0 is a rank that cannot take part: false, for all ranks alike. */
bool node_map_find(struct node_map *p, const uint64_t *names, int64_t nprocs, int64_t rank);
void node_map_forget(struct node_map *p);

#endif
