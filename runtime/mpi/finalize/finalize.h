/*
 * The ranks of an MPI job make one log of their stores, inside MPI_Finalize and in bounded time. On one node they meet
 * without a message (meet_on_node.c); on several by messages (messages.c). Whatever goes wrong, the stores stay for
 * `iolens recover`.
 */
#ifndef IOLENS_MPI_FINALIZE_H
#define IOLENS_MPI_FINALIZE_H

#include <stdbool.h>

#include "life.h"
#include "mpi/mpi.h"
#include "deadline.h"

/* Every rank calls this, also one that is not observed or has no store. */
void finalize_world(const struct mpi_backend *b, const struct life_world *world, bool has_store);

/* Likewise when a rank ends that has no MPI to talk by: where all ranks are on one node, the last one makes the log. */
bool finalize_possible_without_mpi(const struct life_world *world);
void finalize_without_mpi(const struct life_world *world, bool has_store);

/* The two ways to meet; false when not all came: a rank that comes later must not wait. */
bool meet_on_node(const struct life_world *world, bool has_store, struct deadline *p);
void pass_by_node(const struct life_world *world, bool has_store, struct deadline *p); /* without waiting */
bool meet_by_messages(const struct mpi_backend *b, const struct life_world *world, bool has_store, struct deadline *p);

/*
 * Registers this rank's store at its node, and does ahead what it can for the log. The first rank to come can only when it
 * waits for the second: not without a deadline.
 */
bool meet_bring_store(const struct life_world *world, const struct deadline *p);

#endif
