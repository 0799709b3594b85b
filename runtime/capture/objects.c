#include "objects.h"

#include <string.h>

struct relocations {
	const ElfW(Rela) * table;
	size_t bytes, relative; /* so many at the beginning name no symbol */
};

struct dynamic {
	const char *strings;
	const ElfW(Sym) * symbols;
	const uint32_t *gnu;
	const uint32_t *old;      /* the table before GNU's, where that is missing */
	const uint16_t *versions; /* NULL = there are none */
	struct relocations addresses, calls;
};

static const void *in_object(const struct link_map *map, const ElfW(Dyn) * d)
{
	bool moved = d->d_un.d_ptr >= map->l_addr; /* some linkers leave addresses as they are in the file */
	return (const void *)(d->d_un.d_ptr + (moved ? 0 : map->l_addr));
}

static void take(struct dynamic *found, const struct link_map *map, const ElfW(Dyn) * d)
{
	switch (d->d_tag) {
	case DT_STRTAB:
		found->strings = in_object(map, d);
		return;
	case DT_SYMTAB:
		found->symbols = in_object(map, d);
		return;
	case DT_GNU_HASH:
		found->gnu = in_object(map, d);
		return;
	case DT_HASH:
		found->old = in_object(map, d);
		return;
	case DT_VERSYM:
		found->versions = in_object(map, d);
		return;
	case DT_RELA:
		found->addresses.table = in_object(map, d);
		return;
	case DT_RELASZ:
		found->addresses.bytes = d->d_un.d_val;
		return;
	case DT_RELACOUNT:
		found->addresses.relative = d->d_un.d_val;
		return;
	case DT_JMPREL:
		found->calls.table = in_object(map, d);
		return;
	case DT_PLTRELSZ:
		found->calls.bytes = d->d_un.d_val;
		return;
	}
}

static struct dynamic dynamic_of(const struct link_map *map)
{
	struct dynamic found = {0};
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
		take(&found, map, d);
	return found;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static uint32_t old_hash(const char *name)
{
	uint32_t hash = 0;
	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0xfffffff;
	}
	return hash;
}

/* And not of an old version, which only programs that were linked with it mean. */
static bool is_symbol(const struct dynamic *d, uint32_t at, const char *name)
{
	const ElfW(Sym) *s = &d->symbols[at];
	return s->st_shndx != SHN_UNDEF && !(d->versions && d->versions[at] & 0x8000) &&
	       !strcmp(d->strings + s->st_name, name);
}

/* Head of the table: buckets, first symbol in it, words of the filter; then the filter, the buckets, and the chains. */
static const ElfW(Sym) * look_up_gnu(const struct dynamic *d, const char *name, uint32_t hash)
{
	const uint32_t *bucket = d->gnu + 4 + d->gnu[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = bucket + d->gnu[0];
	for (uint32_t at = bucket[hash % d->gnu[0]]; at >= d->gnu[1]; at++) {
		uint32_t link = chain[at - d->gnu[1]];
		if ((link | 1) == (hash | 1) && is_symbol(d, at, name))
			return &d->symbols[at];
		if (link & 1)
			break;
	}
	return NULL;
}

/* Head of the table: buckets, symbols; then the first symbol of each bucket, and behind each symbol the next one. */
static const ElfW(Sym) * look_up_old(const struct dynamic *d, const char *name)
{
	const uint32_t *bucket = d->old + 2, *next = bucket + d->old[0];
	uint32_t at = bucket[old_hash(name) % d->old[0]];
	while (at && !is_symbol(d, at, name))
		at = next[at];
	return at ? &d->symbols[at] : NULL;
}

/* `hash` is GNU's. */
static const ElfW(Sym) * look_up(const struct dynamic *d, const char *name, uint32_t hash)
{
	if (!d->strings || !d->symbols)
		return NULL;
	if (d->gnu && d->gnu[0])
		return look_up_gnu(d, name, hash);
	return d->old && d->old[0] ? look_up_old(d, name) : NULL;
}

/* `at`: NULL where only the linker can tell the address. */
static bool define(const struct link_map *map, const char *symbol, uint32_t hash, void **at)
{
	struct dynamic d = dynamic_of(map);
	const ElfW(Sym) *s = look_up(&d, symbol, hash);
	int type = s ? ELF64_ST_TYPE(s->st_info) : STT_GNU_IFUNC;
	*at = type == STT_FUNC || type == STT_OBJECT ? (void *)(map->l_addr + s->st_value) : NULL;
	return s;
}

void *objects_defined_in(const struct link_map *map, const char *symbol)
{
	void *at;
	return define(map, symbol, gnu_hash(symbol), &at) ? at : NULL;
}

void *objects_find(const struct objects *o, const char *symbol, const char *library)
{
	void *at = NULL;
	uint32_t hash = gnu_hash(symbol);
	for (const struct link_map *map = o->first; map && map != o->end && !at; map = map->l_next)
		if (map != o->without && (!library || strstr(map->l_name, library)))
			define(map, symbol, hash, &at);
	return at;
}

struct objects_definer objects_definer(const struct objects *o, const char *symbol, int most)
{
	struct objects_definer found = {NULL, NULL, 0};
	uint32_t hash = gnu_hash(symbol);
	void *at;
	for (const struct link_map *map = o->first; map && map != o->end && found.count < most; map = map->l_next)
		if (map != o->without && define(map, symbol, hash, &at) && !found.count++) {
			found.map = map;
			found.at = at;
		}
	return found;
}

const struct link_map *objects_around(const struct objects *o, uintptr_t at)
{
	const struct link_map *found = NULL;
	for (const struct link_map *map = o->first; map && map != o->end; map = map->l_next)
		if (map->l_addr <= at && (!found || map->l_addr > found->l_addr))
			found = map;
	return found;
}

void *objects_seen_from(const struct objects *o, const struct link_map *map, const char *symbol)
{
	struct dynamic d = dynamic_of(map);
	void *at = objects_defined_in(map, symbol);
	for (const ElfW(Dyn) *n = map->l_ld; d.strings && !at && n->d_tag != DT_NULL; n++)
		if (n->d_tag == DT_NEEDED)
			at = objects_find(o, symbol, d.strings + n->d_un.d_val);
	return at;
}

bool objects_wraps(const struct link_map *map)
{
	const char *slash = strrchr(map->l_name, '/');
	const char *name = slash ? slash + 1 : map->l_name;
	return !strncmp(name, "libiolens.so", 12) || !strncmp(name, "libiolens-communication.so", 26);
}

static void each_in(const struct link_map *map, const struct relocations *of, const struct dynamic *d,
		    void (*found)(const struct objects_reference *r, void *with), void *with)
{
	const ElfW(Rela) *end = of->table + of->bytes / sizeof *end;
	for (const ElfW(Rela) *r = of->table ? of->table + of->relative : end; r < end; r++) {
		const ElfW(Sym) *s = &d->symbols[ELF64_R_SYM(r->r_info)];
		if (!ELF64_R_SYM(r->r_info) || s->st_shndx != SHN_UNDEF)
			continue;
		struct objects_reference one = {d->strings + s->st_name, ELF64_ST_BIND(s->st_info) == STB_WEAK,
						(ElfW(Addr) *)(map->l_addr + r->r_offset), (ElfW(Addr))r->r_addend};
		found(&one, with);
	}
}

void objects_each_reference(const struct link_map *map, bool calls,
			    void (*found)(const struct objects_reference *r, void *with), void *with)
{
	struct dynamic d = dynamic_of(map);
	if (!d.symbols || !d.strings)
		return;
	each_in(map, &d.addresses, &d, found, with);
	if (calls)
		each_in(map, &d.calls, &d, found, with);
}
