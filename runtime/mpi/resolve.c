#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"
#include "sys.h"

enum { OBJECTS = 512 };

static const void *base_of(const void *address)
{
	Dl_info info;
	return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static bool is_ours(const void *address)
{
	return base_of(address) == base_of((const void *)mpi_resolve);
}

/* ---- objects that were loaded with RTLD_LOCAL ---- */

struct objects {
	const char *name[OBJECTS]; /* the linker's own copies, which live as long as the objects */
	int used;
};

static int remember(struct dl_phdr_info *info, size_t size, void *list)
{
	struct objects *o = list;
	(void)size;
	if (info->dlpi_name && info->dlpi_name[0] && strstr(info->dlpi_name, "mpi") && o->used < OBJECTS)
		o->name[o->used++] = info->dlpi_name;
	return 0;
}

/* The handle of the first object beside ours that leads to the symbol; *at is the symbol. */
static void *find_local(const char *symbol, void **at)
{
	struct objects objects = {.used = 0};
	dl_iterate_phdr(remember, &objects);
	for (int i = 0; i < objects.used; i++) {
		void *handle = dlopen(objects.name[i], RTLD_LAZY | RTLD_NOLOAD);
		*at = handle ? dlsym(handle, symbol) : NULL;
		if (*at && !is_ours(*at))
			return handle;
		if (handle)
			dlclose(handle);
	}
	return NULL;
}

static void *find(const char *symbol)
{
	void *at = dlsym(RTLD_NEXT, symbol);
	if (at && !is_ours(at))
		return at;
	return find_local(symbol, &at) ? at : NULL;
}

/* What the dynamic linker says and does about a symbol that nobody defines. */
static void missing(const char *symbol)
{
	char line[512];
	int n = snprintf(line, sizeof line, "%s: symbol lookup error: undefined symbol: %s\n", program_invocation_name,
			 symbol);
	sys_write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
	for (;;)
		sys_call(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

void *mpi_resolve(struct mpi_wrap *w)
{
	int saved = errno;
	void *real = find(w->name);
	real = real ? real : w->instead;
	if (!real)
		missing(w->name);
	__atomic_store_n(&w->real, real, __ATOMIC_RELEASE);
	errno = saved;
	return real;
}

/* ---- the owner ---- */

static const char *soname_of(const struct link_map *map)
{
	const char *strings = NULL;
	const ElfW(Dyn) *name = NULL;
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
		else if (d->d_tag == DT_SONAME)
			name = d;
	}
	return strings && name ? strings + name->d_un.d_val : "";
}

bool mpi_find_owner(struct mpi_owner *out)
{
	Dl_info info;
	struct link_map *map = NULL;
	void *init = find("PMPI_Init");
	if (!init || !dladdr1(init, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	out->path = map->l_name[0] ? map->l_name : NULL;
	out->soname = soname_of(map);
	out->handle = dlopen(out->path, RTLD_LAZY | RTLD_NOLOAD);
	return out->handle;
}

bool mpi_own_directory(char *out, size_t room)
{
	Dl_info info;
	char real[PATH_MAX]; /* a session may have preloaded a link */
	if (!dladdr((const void *)mpi_resolve, &info) || !realpath(info.dli_fname, real) || strlen(real) >= room)
		return false;
	strcpy(out, real);
	char *slash = strrchr(out, '/');
	if (slash)
		slash[1] = '\0';
	return slash;
}
