/*
 * Accesses: a shape (what a call is given), a name in 32 and in 64 bits of count, and what becomes of it.
 * The Fortran procedures of MPICH and Open MPI call these C functions (README.md), hence no wrappers of their own.
 */
#include <limits.h>

#include "mpi/mpi.h"

#include "record.h"

/* clang-format off */
#define GIVEN_ACCESS(integer)    (uintptr_t file, void *buffer, integer count, uintptr_t type, void *status)
#define GIVEN_ACCESS_AT(integer) (uintptr_t file, int64_t at, void *buffer, integer count, uintptr_t type, void *status)
#define GIVEN_BEGIN(integer)     (uintptr_t file, void *buffer, integer count, uintptr_t type)
#define GIVEN_BEGIN_AT(integer)  (uintptr_t file, int64_t at, void *buffer, integer count, uintptr_t type)
#define GIVEN_POST(integer)      (uintptr_t file, void *buffer, integer count, uintptr_t type, void *request)
#define GIVEN_POST_AT(integer)   (uintptr_t file, int64_t at, void *buffer, integer count, uintptr_t type, void *request)

#define PASS_ACCESS(count)    (file, buffer, count, type, status)
#define PASS_ACCESS_AT(count) (file, at, buffer, count, type, status)
#define PASS_BEGIN(count)     (file, buffer, count, type)
#define PASS_BEGIN_AT(count)  (file, at, buffer, count, type)
#define PASS_POST(count)      (file, buffer, count, type, request)
#define PASS_POST_AT(count)   (file, at, buffer, count, type, request)

#define RECORD_ACCESS(way, kind)    mpiio_on_access(s, LIVE_WAY_##way, LIVE_##kind, count, type, code)
#define RECORD_ACCESS_AT(way, kind) RECORD_ACCESS(way, kind)
#define RECORD_BEGIN(way, kind)     RECORD_ACCESS(way, kind)
#define RECORD_BEGIN_AT(way, kind)  RECORD_ACCESS(way, kind)
#define RECORD_POST(way, kind)      mpiio_on_post(s, LIVE_##kind, count, type, request, code)
#define RECORD_POST_AT(way, kind)   RECORD_POST(way, kind)
/* clang-format on */

#define CALL(instead, shape, name, integer, way, kind)                          \
	WRAP_MPI_OR(instead, name, GIVEN_##shape(integer), PASS_##shape(count)) \
	{                                                                       \
		struct mpiio_span s = mpiio_span_file(file);                    \
		int code = next PASS_##shape(count);                            \
		RECORD_##shape(way, kind);                                      \
		return code;                                                    \
	}

/* Stands in for the 64-bit function of an MPI before 4, as far as its 32-bit one goes. */
#define NARROW(shape, name)                                                    \
	static int narrow_##name GIVEN_##shape(int64_t)                        \
	{                                                                      \
		static struct mpi_wrap wrap = {"MPI_File_" #name, NULL, NULL}; \
		typedef int narrow GIVEN_##shape(int);                         \
		if (count > INT_MAX)                                           \
			return ERROR_COUNT;                                    \
		return ((narrow *)mpi_next(&wrap))PASS_##shape((int)count);    \
	}

enum { ERROR_COUNT = 2 }; /* MPI_ERR_COUNT: in MPICH, Open MPI and the standard ABI */

#define BOTH(shape, name, way, kind)                       \
	CALL(NULL, shape, MPI_File_##name, int, way, kind) \
	NARROW(shape, name)                                \
	CALL(narrow_##name, shape, MPI_File_##name##_c, int64_t, way, kind)

BOTH(ACCESS, read, INDEPENDENT, READ)
BOTH(ACCESS, write, INDEPENDENT, WRITE)
BOTH(ACCESS_AT, read_at, INDEPENDENT, READ)
BOTH(ACCESS_AT, write_at, INDEPENDENT, WRITE)
BOTH(ACCESS, read_shared, INDEPENDENT, READ)
BOTH(ACCESS, write_shared, INDEPENDENT, WRITE)

BOTH(ACCESS, read_all, COLLECTIVE, READ)
BOTH(ACCESS, write_all, COLLECTIVE, WRITE)
BOTH(ACCESS_AT, read_at_all, COLLECTIVE, READ)
BOTH(ACCESS_AT, write_at_all, COLLECTIVE, WRITE)
BOTH(ACCESS, read_ordered, COLLECTIVE, READ)
BOTH(ACCESS, write_ordered, COLLECTIVE, WRITE)

BOTH(BEGIN, read_all_begin, SPLIT, READ)
BOTH(BEGIN, write_all_begin, SPLIT, WRITE)
BOTH(BEGIN_AT, read_at_all_begin, SPLIT, READ)
BOTH(BEGIN_AT, write_at_all_begin, SPLIT, WRITE)
BOTH(BEGIN, read_ordered_begin, SPLIT, READ)
BOTH(BEGIN, write_ordered_begin, SPLIT, WRITE)

BOTH(POST, iread, NONBLOCKING, READ)
BOTH(POST, iwrite, NONBLOCKING, WRITE)
BOTH(POST_AT, iread_at, NONBLOCKING, READ)
BOTH(POST_AT, iwrite_at, NONBLOCKING, WRITE)
BOTH(POST, iread_all, NONBLOCKING, READ)
BOTH(POST, iwrite_all, NONBLOCKING, WRITE)
BOTH(POST_AT, iread_at_all, NONBLOCKING, READ)
BOTH(POST_AT, iwrite_at_all, NONBLOCKING, WRITE)
BOTH(POST, iread_shared, NONBLOCKING, READ)
BOTH(POST, iwrite_shared, NONBLOCKING, WRITE)

#define END(name)                                                                                       \
	WRAP_MPI(MPI_File_##name, (uintptr_t file, void *buffer, void *status), (file, buffer, status)) \
	{                                                                                               \
		struct mpiio_span s = mpiio_span_file(file);                                            \
		int64_t room[MPIIO_STATUS_ROOM / 8];                                                    \
		void *kept = mpiio_status(s, room, status);                                             \
		int code = next(file, buffer, kept);                                                    \
		mpiio_on_end(s, kept, code);                                                            \
		return code;                                                                            \
	}

END(read_all_end)
END(write_all_end)
END(read_at_all_end)
END(write_at_all_end)
END(read_ordered_end)
END(write_ordered_end)
