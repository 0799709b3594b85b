#include "types.h"

#include "mpi.h"

/* Atomic: any thread writes any of them, each a type and its size together. */
uint64_t mpi_types_known[MPI_TYPES_KNOWN];

static void learn(const struct mpi_backend *mpi, uintptr_t type, int64_t size)
{
	uint64_t *known = mpi_types_place(type);
	bool fits = size >= 0 && size < MPI_TYPES_ASKED - 1;
	if (__atomic_load_n(known, __ATOMIC_RELAXED) >> 16 == type || type >> 48)
		return;
	uint64_t word = fits && mpi->type_named(type) ? (uint64_t)size + 1 : MPI_TYPES_ASKED;
	__atomic_store_n(known, (uint64_t)type << 16 | word, __ATOMIC_RELAXED);
}

int64_t mpi_bytes_asked(int64_t count, uintptr_t type)
{
	const struct mpi_backend *mpi = mpi_backend();
	int64_t element = mpi && count > 0 ? mpi->type_size(type) : 0;
	if (element > 0)
		learn(mpi, type, element);
	return element > 0 ? count * element : 0;
}
