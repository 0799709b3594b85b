/* The backend of the MPI that the program was linked with: all that there are were linked in, too (libiolens.a). */
#include "load.h"

#include <stdio.h>
#include <string.h>

#include "resolve.h"

/* Made by tools/linked_library.py; NULL ends it. */
__attribute__((visibility("hidden"))) extern const struct mpi_backend *const linked_backends[];

/* Written by the one thread that begins or ends MPI. `backend` is atomic: others read it meanwhile. */
static struct {
	const struct mpi_backend *backend;
	char failure[128];
} load;

const struct mpi_backend *mpi_backend(void)
{
	return __atomic_load_n(&load.backend, __ATOMIC_ACQUIRE);
}

const char *mpi_load_failure(void)
{
	return load.failure;
}

/* An MPI of the standard ABI says its version; another one that knows of that ABI says -1. */
static bool has_standard_abi(void)
{
	int (*ask)(int *, int *) = (int (*)(int *, int *))resolve_linked(RESOLVE_NAME("PMPI_Abi_get_version"));
	int major = -1, minor = -1;
	return ask && ask(&major, &minor) == 0 && major > 0;
}

static const char *family(void)
{
	if (resolve_linked(RESOLVE_NAME("ompi_mpi_comm_world")))
		return "openmpi";
	return has_standard_abi() ? "abi" : "mpich";
}

static const struct mpi_backend *fail(const char *why, const char *of)
{
	snprintf(load.failure, sizeof load.failure, "%s %s", why, of);
	return NULL;
}

static const struct mpi_backend *start(const char *name)
{
	const struct mpi_backend *const *b = linked_backends;
	while (*b && strcmp((*b)->name, name) != 0)
		b++;
	if (!*b)
		return fail("libiolens.a was built without a backend for", name);
	return (*b)->start(resolve_linked) ? *b : fail("this MPI lacks functions that are needed, as", name);
}

const struct mpi_backend *mpi_load(void)
{
	if (!load.backend && !load.failure[0])
		__atomic_store_n(&load.backend, start(family()), __ATOMIC_RELEASE);
	return load.backend;
}
