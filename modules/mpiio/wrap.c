/*
 * Accesses: five ways of calling, each name in 32 and in 64 bits of count. The Fortran procedures of
 * MPICH and Open MPI call these C functions (README.md), hence no wrappers of their own.
 */
#include "mpi/mpi.h"

#include "record.h"

/* The result goes to a status, or to a request. */
#define ACCESS(name, integer, way, kind)                                                            \
	WRAP_MPI(name, (uintptr_t file, void *buffer, integer count, uintptr_t type, void *status), \
		 (file, buffer, count, type, status))                                               \
	{                                                                                           \
		struct mpiio_span s = mpiio_span_file(file);                                        \
		int code = next(file, buffer, count, type, status);                                 \
		mpiio_on_access(s, LIVE_WAY_##way, LIVE_##kind, count, type, code);                 \
		return code;                                                                        \
	}

#define ACCESS_AT(name, integer, way, kind)                                                                     \
	WRAP_MPI(name, (uintptr_t file, int64_t at, void *buffer, integer count, uintptr_t type, void *status), \
		 (file, at, buffer, count, type, status))                                                       \
	{                                                                                                       \
		struct mpiio_span s = mpiio_span_file(file);                                                    \
		int code = next(file, at, buffer, count, type, status);                                         \
		mpiio_on_access(s, LIVE_WAY_##way, LIVE_##kind, count, type, code);                             \
		return code;                                                                                    \
	}

#define BEGIN(name, integer, way, kind)                                                                            \
	WRAP_MPI(name, (uintptr_t file, void *buffer, integer count, uintptr_t type), (file, buffer, count, type)) \
	{                                                                                                          \
		struct mpiio_span s = mpiio_span_file(file);                                                       \
		int code = next(file, buffer, count, type);                                                        \
		mpiio_on_access(s, LIVE_WAY_##way, LIVE_##kind, count, type, code);                                \
		return code;                                                                                       \
	}

#define BEGIN_AT(name, integer, way, kind)                                                        \
	WRAP_MPI(name, (uintptr_t file, int64_t at, void *buffer, integer count, uintptr_t type), \
		 (file, at, buffer, count, type))                                                 \
	{                                                                                         \
		struct mpiio_span s = mpiio_span_file(file);                                      \
		int code = next(file, at, buffer, count, type);                                   \
		mpiio_on_access(s, LIVE_WAY_##way, LIVE_##kind, count, type, code);               \
		return code;                                                                      \
	}

#define POST(name, integer, way, kind)                                                               \
	WRAP_MPI(name, (uintptr_t file, void *buffer, integer count, uintptr_t type, void *request), \
		 (file, buffer, count, type, request))                                               \
	{                                                                                            \
		struct mpiio_span s = mpiio_span_file(file);                                         \
		int code = next(file, buffer, count, type, request);                                 \
		mpiio_on_post(s, LIVE_##kind, count, type, request, code);                           \
		return code;                                                                         \
	}

#define POST_AT(name, integer, way, kind)                                                                        \
	WRAP_MPI(name, (uintptr_t file, int64_t at, void *buffer, integer count, uintptr_t type, void *request), \
		 (file, at, buffer, count, type, request))                                                       \
	{                                                                                                        \
		struct mpiio_span s = mpiio_span_file(file);                                                     \
		int code = next(file, at, buffer, count, type, request);                                         \
		mpiio_on_post(s, LIVE_##kind, count, type, request, code);                                       \
		return code;                                                                                     \
	}

/* One name: its two widths. */
#define BOTH(shape, name, way, kind) \
	shape(MPI_File_##name, int, way, kind) shape(MPI_File_##name##_c, int64_t, way, kind)

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
		int code = next(file, buffer, status);                                                  \
		mpiio_on_end(s, code);                                                                  \
		return code;                                                                            \
	}

END(read_all_end)
END(write_all_end)
END(read_at_all_end)
END(write_at_all_end)
END(read_ordered_end)
END(write_ordered_end)
