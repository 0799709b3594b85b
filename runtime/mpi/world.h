/* The name of an MPI_COMM_WORLD, found without communication: what the launcher says. */
#ifndef IOLENS_MPI_WORLD_H
#define IOLENS_MPI_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/* The same number in all ranks, and another one for another start; of a process without launcher, its own. */
uint64_t mpi_world_id(char **environment, int size);

/* The MPI has started this rank itself, in a way that only it can tell its world: not before MPI_Init. */
bool mpi_is_spawned(char **environment);

/* The same number in all ranks of a world on this node, and never again: names their directory. */
uint64_t mpi_meeting_id(char **environment, uint64_t world);

/* Ranks on this node, 0 = the launcher does not say. */
int mpi_local_size(char **environment, int size);

/* This process's rank on its node, as far as the launcher says: the first one prints the messages to the user. */
int mpi_local_rank(char **environment);

#endif
