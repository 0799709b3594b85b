#include "load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "lock.h"
#include "resolve.h"
#include "sys.h"

/* By the SONAME that owns PMPI_Init: the ABI families. */
static const struct family {
	const char *prefix, *number; /* of the SONAME: begins with, contains */
	const char *symbol;          /* must be there, NULL = any */
	const char *backend;
} families[] = {
	{"libmpi_abi.", ".so.", NULL, "abi"}, /* the standard ABI of MPI 5, whosever library it is */
	{"libmpi.", ".so.40", "ompi_mpi_comm_world", "openmpi"},
	{"libmpi.", ".so.20", "ompi_mpi_comm_world", "openmpi"},
	{"libmpi", ".so.12", NULL, "mpich"}, /* MPICH, MVAPICH, Intel MPI, Cray MPICH: libmpi, libmpich, libmpi_cray */
};

/* Written by the one thread that begins or ends MPI. `backend` is atomic: others read it meanwhile. */
static struct {
	const struct mpi_backend *backend;
	void *owner;
	char failure[512];
} load;

const struct mpi_backend *mpi_backend(void)
{
	return __atomic_load_n(&load.backend, __ATOMIC_ACQUIRE);
}

const char *mpi_load_failure(void)
{
	return load.failure;
}

static const struct family *family_of(const struct resolve_owner *o)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		const struct family *f = &families[i];
		if (strncmp(o->soname, f->prefix, strlen(f->prefix)) == 0 && strstr(o->soname, f->number) &&
		    (!f->symbol || dlsym(o->handle, f->symbol)))
			return f;
	}
	return NULL;
}

/* Of a variable the program may have a copy of its own (a copy relocation), and then everybody uses that. */
static void *find_in_owner(const char *name)
{
	void *global = strncmp(name, "PMPI_", 5) ? dlsym(RTLD_DEFAULT, name) : NULL;
	return global ? global : dlsym(load.owner, name);
}

static const struct mpi_backend *fail(const char *why, const char *of)
{
	snprintf(load.failure, sizeof load.failure, "%s %.300s", why, of);
	return NULL;
}

struct backend_file {
	const char *path;
	void *object;
};

static void open_file(void *file)
{
	struct backend_file *f = file;
	unsigned held = sys_hold_standard();
	f->object = dlopen(f->path, RTLD_NOW | RTLD_LOCAL);
	sys_let_standard_go(held);
}

static const struct mpi_backend *open_backend(const char *name)
{
	char path[4096];
	size_t n = resolve_own_directory(path, sizeof path - 64) ? strlen(path) : 0;
	snprintf(path + n, sizeof path - n, "libiolens-mpi-%s.so", name);
	struct backend_file file = {path, NULL};
	alone_do_long(open_file, &file);
	const struct mpi_backend *b = file.object ? dlsym(file.object, "iolens_mpi_backend") : NULL;
	if (!b)
		return fail("no usable", path);
	if (b->version != MPI_BACKEND_VERSION || b->size != sizeof *b)
		return fail("of another version of iolens:", path);
	return b->start(find_in_owner) ? b : fail("this MPI lacks functions that are needed by", path);
}

const struct mpi_backend *mpi_load(void)
{
	struct resolve_owner owner;
	if (load.backend || load.failure[0])
		return load.backend;
	if (resolve_torn())
		return fail("forked from a process with threads", "");
	if (!resolve_find_owner("PMPI_Init", MPI_LIBRARY, &owner))
		return fail("no MPI library found", "");
	load.owner = owner.handle;
	const struct family *f = family_of(&owner);
	const struct mpi_backend *b = f ? open_backend(f->backend) : fail("no backend for the MPI of", owner.soname);
	__atomic_store_n(&load.backend, b, __ATOMIC_RELEASE);
	return b;
}
