/*
 * The ranks of an MPI job make one log of their stores, inside MPI_Finalize: over a communicator of our own, with
 * non-blocking operations, in bounded time. Whatever goes wrong, the stores stay for `iolens recover`.
 */
#ifndef IOLENS_MPI_FINALIZE_H
#define IOLENS_MPI_FINALIZE_H

#include <stdbool.h>

#include "life.h"
#include "mpi.h"

/* Every rank calls this, also one that is not observed or has no store. */
void finalize_world(const struct mpi_backend *b, const struct life_world *world, bool has_store);

#endif
