/*
 * Collective calls. Bytes are what a rank hands over, to all others together where each gets a part of its own; of a broadcast and
 * of a scatter what it takes. At the roots of intercommunicators, whose other arguments may mean nothing, they are 0.
 */
#include "collective.h"

/* clang-format off */
#define BCAST_GIVEN(integer) void *buffer, integer count, uintptr_t type, int root, uintptr_t comm
#define BCAST_PASSED         buffer, count, type, root, comm

#define ROOTED_GIVEN(integer) \
	const void *buffer, integer count, uintptr_t type, void *into, integer room, uintptr_t as, int root, uintptr_t comm
#define ROOTED_PASSED buffer, count, type, into, room, as, root, comm

#define GATHERV_GIVEN(integer) \
	const void *buffer, integer count, uintptr_t type, void *into, const integer *rooms, const integer *places, \
	uintptr_t as, int root, uintptr_t comm
#define GATHERV_PASSED buffer, count, type, into, rooms, places, as, root, comm

#define SCATTERV_GIVEN(integer) \
	const void *buffer, const integer *counts, const integer *from, uintptr_t type, void *into, integer room, \
	uintptr_t as, int root, uintptr_t comm
#define SCATTERV_PASSED buffer, counts, from, type, into, room, as, root, comm

#define REDUCE_GIVEN(integer) \
	const void *buffer, void *into, integer count, uintptr_t type, uintptr_t op, int root, uintptr_t comm
#define REDUCE_PASSED buffer, into, count, type, op, root, comm

#define COMBINE_GIVEN(integer) const void *buffer, void *into, integer count, uintptr_t type, uintptr_t op, uintptr_t comm
#define COMBINE_PASSED         buffer, into, count, type, op, comm

#define REDUCE_SCATTER_GIVEN(integer) \
	const void *buffer, void *into, const integer *counts, uintptr_t type, uintptr_t op, uintptr_t comm
#define REDUCE_SCATTER_PASSED buffer, into, counts, type, op, comm

/* A part of a vector, where the vector is in place. */
#define PART(counts, rank, type) mpi_bytes((counts)[rank], type)

#define COUNTED  mpi_bytes(count, type)
#define AT_ROOTS(bytes) (root < 0 ? 0 : (bytes))
#define OWN      apmpi_own(buffer, count, type, room, as)
#define TAKEN    apmpi_own(into, room, as, count, type)
#define OWN_V    (apmpi_in_place(buffer) ? PART(rooms, apmpi_rank(comm), as) : COUNTED)
#define ALL_V    (apmpi_in_place(buffer) ? apmpi_all(comm, rooms, as) : apmpi_all(comm, counts, type))
#define ALL_W    (apmpi_in_place(buffer) ? apmpi_all_of(comm, rooms, as) : apmpi_all_of(comm, counts, types))
#define GATHERED (apmpi_in_place(buffer) ? PART(rooms, root, as) : COUNTED)
#define SCATTERED (apmpi_in_place(into) ? PART(counts, root, type) : mpi_bytes(room, as))
/* clang-format on */

COLLECTIVE_CALL_OR(NULL, Barrier, BARRIER, (uintptr_t comm), (comm), 0)
CALL(Ibarrier, IBARRIER, (uintptr_t comm, void *request), (comm, request), 0)
CALL_4(Barrier_init, BARRIER_INIT, (uintptr_t comm, uintptr_t info, void *request), (comm, info, request), 0)

COLLECTIVE(Bcast, bcast, BCAST, BCAST_GIVEN, (BCAST_PASSED), FITS(count), AT_ROOTS(COUNTED))
COLLECTIVE(Gather, gather, GATHER, ROOTED_GIVEN, (ROOTED_PASSED), BOTH_FIT, AT_ROOTS(OWN))
COLLECTIVE(Scatter, scatter, SCATTER, ROOTED_GIVEN, (ROOTED_PASSED), BOTH_FIT, AT_ROOTS(TAKEN))
COLLECTIVE(Allgather, allgather, ALLGATHER, EACH_GIVEN, (EACH_PASSED), BOTH_FIT, OWN)
COLLECTIVE(Alltoall, alltoall, ALLTOALL, EACH_GIVEN, (EACH_PASSED), BOTH_FIT, apmpi_each(comm, OWN))
COLLECTIVE(Reduce, reduce, REDUCE, REDUCE_GIVEN, (REDUCE_PASSED), FITS(count), AT_ROOTS(COUNTED))
COLLECTIVE(Allreduce, allreduce, ALLREDUCE, COMBINE_GIVEN, (COMBINE_PASSED), FITS(count), COUNTED)
COLLECTIVE(Scan, scan, SCAN, COMBINE_GIVEN, (COMBINE_PASSED), FITS(count), COUNTED)
COLLECTIVE(Exscan, exscan, EXSCAN, COMBINE_GIVEN, (COMBINE_PASSED), FITS(count), COUNTED)
/* Of this one the record has no times. */
NEIGHBORS(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK, COMBINE_GIVEN, (COMBINE_PASSED),
	  FITS(count), apmpi_each(comm, COUNTED))

COLLECTIVE_OF_ARRAYS(Gatherv, gatherv, GATHERV, GATHERV_GIVEN, (GATHERV_PASSED), AT_ROOTS(GATHERED))
COLLECTIVE_OF_ARRAYS(Scatterv, scatterv, SCATTERV, SCATTERV_GIVEN, (SCATTERV_PASSED), AT_ROOTS(SCATTERED))
COLLECTIVE_OF_ARRAYS(Allgatherv, allgatherv, ALLGATHERV, EACH_V_GIVEN, (EACH_V_PASSED), OWN_V)
COLLECTIVE_OF_ARRAYS(Alltoallv, alltoallv, ALLTOALLV, TO_EACH_V_GIVEN, (TO_EACH_V_PASSED), ALL_V)
COLLECTIVE_OF_ARRAYS(Alltoallw, alltoallw, ALLTOALLW, TO_EACH_W_GIVEN, (TO_EACH_W_PASSED), ALL_W)
COLLECTIVE_OF_ARRAYS(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, REDUCE_SCATTER_GIVEN, (REDUCE_SCATTER_PASSED),
		     apmpi_all(comm, counts, type))
