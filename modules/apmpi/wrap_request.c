/* The calls that complete requests, which may be those of accesses to files: then their time is I/O, not communication. */
#include "../mpiio/record.h"
#include "../mpiio/request_calls.h"
#include "call.h"

#define COMPLETION(name, id, given, passed, requests_, n_, statuses_, passed_kept, ...)            \
	WRAP_MPI(MPI_##name, given, passed)                                                        \
	{                                                                                          \
		struct apmpi_span s = apmpi_span();                                                \
		struct mpiio_wait w;                                                               \
		mpiio_wait(&w, requests_, n_);                                                     \
		void *kept = mpiio_statuses(&w, n_, statuses_);                                    \
		int code = next passed_kept;                                                       \
		double end = s.to ? clock_now() : 0;                                               \
		bool of_files = mpiio_on_wait(&w, (struct mpiio_said){.code = code, __VA_ARGS__}); \
		if (s.to && of_files)                                                              \
			apmpi_add_untimed(s, STATE_CALL_##id);                                     \
		else if (s.to)                                                                     \
			apmpi_add(s, end, STATE_CALL_##id, 0);                                     \
		return code;                                                                       \
	}

MPIIO_REQUEST_CALLS(COMPLETION)
