/*
 * The calls that complete requests: one comparison each while no non-blocking access is under way. Where communication is counted,
 * too, modules/apmpi/wrap_request.c stands in for this file.
 */
#include "mpi/mpi.h"

#include "record.h"
#include "request_calls.h"

#define CALL(name, id, given, passed, requests_, n_, statuses_, passed_kept, ...)  \
	WRAP_MPI(MPI_##name, given, passed)                                        \
	{                                                                          \
		struct mpiio_wait w;                                               \
		mpiio_wait(&w, requests_, n_);                                     \
		void *kept = mpiio_statuses(&w, n_, statuses_);                    \
		int code = next passed_kept;                                       \
		mpiio_on_wait(&w, (struct mpiio_said){.code = code, __VA_ARGS__}); \
		return code;                                                       \
	}

MPIIO_REQUEST_CALLS(CALL)
