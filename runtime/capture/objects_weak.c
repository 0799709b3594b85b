#include "objects.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "sys.h"

/* ---- at the start ---- */

/* The linker's bounds: whole pages. */
static int find_sealed(struct dl_phdr_info *info, size_t size, void *slot)
{
	uintptr_t page = getauxval(AT_PAGESZ);
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = (info->dlpi_addr + p->p_vaddr) & -page;
		uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & -page;
		if (p->p_type == PT_GNU_RELRO && (uintptr_t)slot >= from && (uintptr_t)slot < to)
			return 1;
	}
	return 0;
}

static void set(ElfW(Addr) * slot, ElfW(Addr) value)
{
	uintptr_t page = getauxval(AT_PAGESZ), at = (uintptr_t)slot & -page;
	bool sealed = dl_iterate_phdr(find_sealed, slot);
	if (sealed && sys_call(SYS_mprotect, (long)at, (long)page, PROT_READ | PROT_WRITE, 0, 0, 0) != 0)
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELAXED);
	if (sealed)
		sys_call(SYS_mprotect, (long)at, (long)page, PROT_READ, 0, 0, 0);
}

static bool only_ours(const struct link_map *own, const char *name)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (map != own && !objects_wraps(map) &&
		    objects_definer(&(struct objects){map, map->l_next, NULL}, name, 1).count)
			return false;
	return true;
}

/* Names that begin with an underscore are those of compilers and libc, which no other library has; iolens_ are meant to be found. */
static void unbind(const struct objects_reference *r, void *with)
{
	const struct link_map *own = with;
	if (!r->weak || r->name[0] == '_' || (uintptr_t)r->slot % sizeof *r->slot)
		return;
	ElfW(Addr) ours = (ElfW(Addr))objects_defined_in(own, r->name);
	if (ours && *r->slot == ours + r->addend && strncmp(r->name, "iolens_", 7) != 0 && only_ours(own, r->name))
		set(r->slot, r->addend);
}

void objects_unbind_weak(const struct link_map *own)
{
	for (struct link_map *map = own ? _r_debug.r_map : NULL; map; map = map->l_next)
		if (map != own)
			objects_each_reference(map, false, unbind, (void *)own);
}

/* ---- later ---- */

struct need {
	const struct link_map *own;
	const char *symbol;
	bool found;
};

static void compare(const struct objects_reference *r, void *with)
{
	struct need *n = with;
	n->found = n->found || (!r->weak && !strcmp(r->name, n->symbol));
}

static int look(struct dl_phdr_info *info, size_t size, void *with)
{
	struct need *n = with;
	(void)info, (void)size;
	for (const struct link_map *map = _r_debug.r_map; map && !n->found; map = map->l_next)
		if (map != n->own)
			objects_each_reference(map, true, compare, n);
	return 1;
}

bool objects_need(const struct link_map *own, const char *symbol, bool torn)
{
	struct need n = {own, symbol, false};
	if (torn)
		look(NULL, 0, &n);
	else
		dl_iterate_phdr(look, &n);
	return n.found;
}
