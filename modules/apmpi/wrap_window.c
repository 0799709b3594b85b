/* One-sided communication: bytes are those of the origin, of Get_accumulate those of the target. */
#include "call.h"

/* clang-format off */
#define MOVE_GIVEN(integer) \
	void *buffer, integer count, uintptr_t type, int target, int64_t at, integer target_count, uintptr_t target_type
#define MOVE_PASSED buffer, count, type, target, at, target_count, target_type

#define GIVEN_MOVE(integer)    (MOVE_GIVEN(integer), uintptr_t window)
#define PASS_MOVE              (MOVE_PASSED, window)
#define GIVEN_COMBINE(integer) (MOVE_GIVEN(integer), uintptr_t op, uintptr_t window)
#define PASS_COMBINE           (MOVE_PASSED, op, window)

#define GIVEN_RMOVE(integer)    (MOVE_GIVEN(integer), uintptr_t window, void *request)
#define PASS_RMOVE              (MOVE_PASSED, window, request)
#define GIVEN_RCOMBINE(integer) (MOVE_GIVEN(integer), uintptr_t op, uintptr_t window, void *request)
#define PASS_RCOMBINE           (MOVE_PASSED, op, window, request)

#define FETCH_GIVEN(integer) \
	const void *buffer, integer count, uintptr_t type, void *into, integer room, uintptr_t as, \
	int target, int64_t at, integer target_count, uintptr_t target_type, uintptr_t op, uintptr_t window
#define FETCH_PASSED buffer, count, type, into, room, as, target, at, target_count, target_type, op, window
#define GIVEN_FETCH(integer)  (FETCH_GIVEN(integer))
#define PASS_FETCH            (FETCH_PASSED)
#define GIVEN_RFETCH(integer) (FETCH_GIVEN(integer), void *request)
#define PASS_RFETCH           (FETCH_PASSED, request)

#define MOVED     mpi_bytes(count, type)
#define FETCHED   mpi_bytes(target_count, target_type)
#define TWO_FIT   (FITS(count) && FITS(target_count))
#define THREE_FIT (TWO_FIT && FITS(room))
/* clang-format on */

BOTH(Put, PUT, GIVEN_MOVE, PASS_MOVE, TWO_FIT, MOVED)
BOTH(Get, GET, GIVEN_MOVE, PASS_MOVE, TWO_FIT, MOVED)
BOTH(Accumulate, ACCUMULATE, GIVEN_COMBINE, PASS_COMBINE, TWO_FIT, MOVED)
BOTH(Get_accumulate, GET_ACCUMULATE, GIVEN_FETCH, PASS_FETCH, THREE_FIT, FETCHED)
BOTH(Rput, RPUT, GIVEN_RMOVE, PASS_RMOVE, TWO_FIT, MOVED)
BOTH(Rget, RGET, GIVEN_RMOVE, PASS_RMOVE, TWO_FIT, MOVED)
BOTH(Raccumulate, RACCUMULATE, GIVEN_RCOMBINE, PASS_RCOMBINE, TWO_FIT, MOVED)
BOTH(Rget_accumulate, RGET_ACCUMULATE, GIVEN_RFETCH, PASS_RFETCH, THREE_FIT, FETCHED)

CALL(Fetch_and_op, FETCH_AND_OP,
     (const void *buffer, void *into, uintptr_t type, int target, int64_t at, uintptr_t op, uintptr_t window),
     (buffer, into, type, target, at, op, window), mpi_bytes(1, type))
CALL(Compare_and_swap, COMPARE_AND_SWAP,
     (const void *buffer, const void *compared, void *into, uintptr_t type, int target, int64_t at, uintptr_t window),
     (buffer, compared, into, type, target, at, window), mpi_bytes(1, type))

CALL(Win_fence, WIN_FENCE, (int assertion, uintptr_t window), (assertion, window), 0)
CALL(Win_start, WIN_START, (uintptr_t group, int assertion, uintptr_t window), (group, assertion, window), 0)
CALL(Win_complete, WIN_COMPLETE, (uintptr_t window), (window), 0)
CALL(Win_post, WIN_POST, (uintptr_t group, int assertion, uintptr_t window), (group, assertion, window), 0)
CALL(Win_wait, WIN_WAIT, (uintptr_t window), (window), 0)
CALL(Win_test, WIN_TEST, (uintptr_t window, int *flag), (window, flag), 0)
CALL(Win_lock, WIN_LOCK, (int kind, int rank, int assertion, uintptr_t window), (kind, rank, assertion, window), 0)
CALL(Win_unlock, WIN_UNLOCK, (int rank, uintptr_t window), (rank, window), 0)
CALL(Win_lock_all, WIN_LOCK_ALL, (int assertion, uintptr_t window), (assertion, window), 0)
CALL(Win_unlock_all, WIN_UNLOCK_ALL, (uintptr_t window), (window), 0)
CALL(Win_flush, WIN_FLUSH, (int rank, uintptr_t window), (rank, window), 0)
CALL(Win_flush_all, WIN_FLUSH_ALL, (uintptr_t window), (window), 0)
CALL(Win_flush_local, WIN_FLUSH_LOCAL, (int rank, uintptr_t window), (rank, window), 0)
CALL(Win_flush_local_all, WIN_FLUSH_LOCAL_ALL, (uintptr_t window), (window), 0)
CALL(Win_sync, WIN_SYNC, (uintptr_t window), (window), 0)
