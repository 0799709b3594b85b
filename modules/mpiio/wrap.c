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

/* Where it begins: at the file's pointer, at a given offset, at the pointer that all ranks share. */
#define AT_POINTER mpiio_locate(s, file, NULL)
#define AT_OFFSET  mpiio_locate(s, file, &at)
#define AT_SHARED  mpiio_locate_shared()

#define RECORD_ACCESS(mode, op)    mpiio_on_access(s, ACCESS_MODE_##mode, IO_##op, count, type, code)
#define RECORD_ACCESS_AT(mode, op) RECORD_ACCESS(mode, op)
#define RECORD_BEGIN(mode, op)     RECORD_ACCESS(mode, op)
#define RECORD_BEGIN_AT(mode, op)  RECORD_ACCESS(mode, op)
#define RECORD_POST(mode, op)      mpiio_on_post(s, IO_##op, count, type, request, code)
#define RECORD_POST_AT(mode, op)   RECORD_POST(mode, op)
/* clang-format on */

#define CALL(instead, shape, where, name, integer, mode, op)                    \
	WRAP_MPI_OR(instead, name, GIVEN_##shape(integer), PASS_##shape(count)) \
	{                                                                       \
		struct mpiio_span s = mpiio_span_file(file);                    \
		AT_##where;                                                     \
		int code = next PASS_##shape(count);                            \
		RECORD_##shape(mode, op);                                       \
		return code;                                                    \
	}

/* Stands in for the 64-bit function of an MPI before 4, as far as its 32-bit one goes. */
#define NARROW(shape, name)                                                              \
	static int narrow_##name GIVEN_##shape(int64_t)                                  \
	{                                                                                \
		typedef int narrow GIVEN_##shape(int);                                   \
		if (count > INT_MAX)                                                     \
			return ERROR_COUNT;                                              \
		return MPI_NEXT(narrow, MPI_File_##name, NULL) PASS_##shape((int)count); \
	}

enum { ERROR_COUNT = 2 }; /* MPI_ERR_COUNT: in MPICH, Open MPI and the standard ABI */

#define BOTH(shape, where, name, mode, op)                       \
	CALL(NULL, shape, where, MPI_File_##name, int, mode, op) \
	NARROW(shape, name)                                      \
	CALL(narrow_##name, shape, where, MPI_File_##name##_c, int64_t, mode, op)

BOTH(ACCESS, POINTER, read, INDEPENDENT, READ)
BOTH(ACCESS, POINTER, write, INDEPENDENT, WRITE)
BOTH(ACCESS_AT, OFFSET, read_at, INDEPENDENT, READ)
BOTH(ACCESS_AT, OFFSET, write_at, INDEPENDENT, WRITE)
BOTH(ACCESS, SHARED, read_shared, INDEPENDENT, READ)
BOTH(ACCESS, SHARED, write_shared, INDEPENDENT, WRITE)

BOTH(ACCESS, POINTER, read_all, COLLECTIVE, READ)
BOTH(ACCESS, POINTER, write_all, COLLECTIVE, WRITE)
BOTH(ACCESS_AT, OFFSET, read_at_all, COLLECTIVE, READ)
BOTH(ACCESS_AT, OFFSET, write_at_all, COLLECTIVE, WRITE)
BOTH(ACCESS, SHARED, read_ordered, COLLECTIVE, READ)
BOTH(ACCESS, SHARED, write_ordered, COLLECTIVE, WRITE)

BOTH(BEGIN, POINTER, read_all_begin, SPLIT, READ)
BOTH(BEGIN, POINTER, write_all_begin, SPLIT, WRITE)
BOTH(BEGIN_AT, OFFSET, read_at_all_begin, SPLIT, READ)
BOTH(BEGIN_AT, OFFSET, write_at_all_begin, SPLIT, WRITE)
BOTH(BEGIN, SHARED, read_ordered_begin, SPLIT, READ)
BOTH(BEGIN, SHARED, write_ordered_begin, SPLIT, WRITE)

BOTH(POST, POINTER, iread, NONBLOCKING, READ)
BOTH(POST, POINTER, iwrite, NONBLOCKING, WRITE)
BOTH(POST_AT, OFFSET, iread_at, NONBLOCKING, READ)
BOTH(POST_AT, OFFSET, iwrite_at, NONBLOCKING, WRITE)
BOTH(POST, POINTER, iread_all, NONBLOCKING, READ)
BOTH(POST, POINTER, iwrite_all, NONBLOCKING, WRITE)
BOTH(POST_AT, OFFSET, iread_at_all, NONBLOCKING, READ)
BOTH(POST_AT, OFFSET, iwrite_at_all, NONBLOCKING, WRITE)
BOTH(POST, SHARED, iread_shared, NONBLOCKING, READ)
BOTH(POST, SHARED, iwrite_shared, NONBLOCKING, WRITE)

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

WRAP_MPI(MPI_Request_free, (void *request), (request))
{
	mpiio_on_free(request);
	return next(request);
}
