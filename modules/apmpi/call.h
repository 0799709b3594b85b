/* How a wrapper of this module is made of a line of a table: name, kind of call, parameters, arguments, bytes. */
#ifndef IOLENS_APMPI_CALL_H
#define IOLENS_APMPI_CALL_H

#include <limits.h>

#include "mpi/mpi.h"

#include "record.h"

enum {
	APMPI_ERROR_COUNT = 2, /* MPI_ERR_COUNT, */
	APMPI_UNSUPPORTED = 16 /* and the number of some error: in MPICH, Open MPI and the standard ABI */
};

/* `after` is what else is done when the call ended well. */
#define CALL_OR(instead, name, id, given, passed, bytes, after) \
	CALL_AFTER(apmpi_span(), instead, name, id, given, passed, bytes, after)

/* A collective call that blocks, with a parameter comm. */
#define COLLECTIVE_CALL_OR(instead, name, id, given, passed, bytes) \
	CALL_AFTER(apmpi_synchronized_span(comm, STATE_CALL_##id), instead, name, id, given, passed, bytes, )

#define CALL_AFTER(span, instead, name, id, given, passed, bytes, after) \
	WRAP_MPI_OR(instead, MPI_##name, given, passed)                  \
	{                                                                \
		struct apmpi_span s = span;                              \
		int code = next passed;                                  \
		if (s.to && !code) {                                     \
			double end = clock_now();                        \
			apmpi_add(s, end, STATE_CALL_##id, (bytes));     \
			after;                                           \
		}                                                        \
		return code;                                             \
	}

#define CALL(name, id, given, passed, bytes) CALL_OR(NULL, name, id, given, passed, bytes, )

/* Of MPI 4: in an older one there is none. */
#define CALL_4(name, id, given, passed, bytes) CALL_OR(apmpi_unsupported, name, id, given, passed, bytes, )

/*
 * In 32 and in 64 bits of count. The parameters are a macro of the integer's type; in an MPI before 4 the 64-bit function does
 * its work by the other, as far as the counts fit.
 */
#define BOTH(name, id, given, passed, fits, bytes)                         \
	CALL(name, id, given(int), passed, bytes)                          \
	static int narrow_##name given(int64_t)                            \
	{                                                                  \
		if (!(fits))                                               \
			return APMPI_ERROR_COUNT;                          \
		return MPI_NEXT(type_MPI_##name, MPI_##name, NULL) passed; \
	}                                                                  \
	CALL_OR(narrow_##name, name##_c, id, given(int64_t), passed, bytes, )

#define FITS(count) ((count) <= INT_MAX)

static inline int apmpi_unsupported(void)
{
	return APMPI_UNSUPPORTED;
}

#endif
