/*
 * The ranks of an MPI job make one log of their stores, inside MPI_Finalize and in bounded time. On one node they meet
 * without a message (meet_on_node.c); on several by messages (messages.c). Whatever goes wrong, the stores stay for
 * `iolens recover`.
 */
#ifndef IOLENS_MPI_FINALIZE_H
#define IOLENS_MPI_FINALIZE_H

#include <stdbool.h>

#include "life.h"
#include "mpi.h"
#include "patience.h"

/* Every rank calls this, also one that is not observed or has no store. */
void finalize_world(const struct mpi_backend *b, const struct life_world *world, bool has_store);

/* The two ways to meet; false when not all came: who is still to come must not wait. */
bool meet_on_node(const struct life_world *world, bool has_store, struct patience *p);
bool meet_by_messages(const struct mpi_backend *b, const struct life_world *world, bool has_store, struct patience *p);

/*
 * Registers this rank's store at its node, and does ahead what it can for the log. The first rank to come can only when it
 * waits for the second: not without patience.
 */
bool meet_bring_store(const struct life_world *world, const struct patience *p);

/* The line about ranks that did not come; for one rank to say. */
void finalize_not_all(void);

#endif
