/* Collective calls among the neighbours of a topology: bytes are what a rank hands to all of them. */
#include "collective.h"

/* clang-format off */
#define TO_EACH   mpi_bytes(count, type)
#define TO_ALL    apmpi_each_target(comm, TO_EACH)
#define TO_ALL_V  apmpi_all_targets(comm, counts, type)
#define TO_ALL_W  apmpi_all_targets_of(comm, counts, types)
/* clang-format on */

NEIGHBORS(Neighbor_allgather, neighbor_allgather, NEIGHBOR_ALLGATHER, EACH_GIVEN, (EACH_PASSED), BOTH_FIT, TO_EACH)
NEIGHBORS(Neighbor_alltoall, neighbor_alltoall, NEIGHBOR_ALLTOALL, EACH_GIVEN, (EACH_PASSED), BOTH_FIT, TO_ALL)
NEIGHBORS_OF_ARRAYS(Neighbor_allgatherv, neighbor_allgatherv, NEIGHBOR_ALLGATHERV, EACH_V_GIVEN, (EACH_V_PASSED),
		    TO_EACH)
NEIGHBORS_OF_ARRAYS(Neighbor_alltoallv, neighbor_alltoallv, NEIGHBOR_ALLTOALLV, TO_EACH_V_GIVEN, (TO_EACH_V_PASSED),
		    TO_ALL_V)
NEIGHBORS_OF_ARRAYS(Neighbor_alltoallw, neighbor_alltoallw, NEIGHBOR_ALLTOALLW, TO_EACH_W_GIVEN, (TO_EACH_W_PASSED),
		    TO_ALL_W)
