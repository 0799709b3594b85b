/* Where the MPI is: its library may be loaded at any time, and out of the sight of the dynamic linker's global scope. */
#ifndef IOLENS_MPI_RESOLVE_H
#define IOLENS_MPI_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

struct mpi_owner {
	void *handle;       /* for dlsym */
	const char *path;   /* of the shared object that defines PMPI_Init */
	const char *soname; /* "" = it has none: the program itself */
};

/* False when there is no MPI in this process. */
bool mpi_find_owner(struct mpi_owner *out);

/* The directory of our own library, with its slash; false when unknown. */
bool mpi_own_directory(char *out, size_t room);

#endif
