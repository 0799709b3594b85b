/*
 * How many bytes elements of an MPI's type are. The MPI is asked each time, because a freed type's handle may be used again, but
 * for its own types: whether a handle is that of one never changes.
 */
#ifndef IOLENS_MPI_TYPES_H
#define IOLENS_MPI_TYPES_H

#include <stdint.h>

/* A word has the low 48 bits of a handle, and in 16 bits the type's size plus 1, or that it must be asked. */
enum { MPI_TYPES_KNOWN = 64, MPI_TYPES_ASKED = 0xffff };
extern uint64_t mpi_types_known[MPI_TYPES_KNOWN] __attribute__((visibility("hidden")));

static inline uint64_t *mpi_types_place(uintptr_t type)
{
	return &mpi_types_known[(type ^ type >> 9) % MPI_TYPES_KNOWN];
}

__attribute__((cold)) int64_t mpi_bytes_asked(int64_t count, uintptr_t type);

/* 0: none, or unknown. */
static inline int64_t mpi_bytes(int64_t count, uintptr_t type)
{
	uint64_t known = __atomic_load_n(mpi_types_place(type), __ATOMIC_RELAXED);
	unsigned size = (uint16_t)known - 1u;
	if (__builtin_expect(known >> 16 != type || size >= MPI_TYPES_ASKED - 1, 0))
		return mpi_bytes_asked(count, type);
	return count > 0 ? count * size : 0;
}

#endif
