#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "thread.h"
#include "sys.h"
#include "warn.h"

enum { OBJECTS = 1024 };

/* ---- forked children of programs with threads ---- */

extern char __libc_single_threaded __attribute__((weak));

static struct {
	bool torn;
	struct link_map *map;  /* our library, */
	struct link_map *last; /* and the last of those that began with the program: they are the global scope */
} own AT_START;

/*
 * One of the threads may have been in the dynamic linker: dlopen waits for ever then, or ends the process, dl_iterate_phdr waits
 * for ever, and where the C library did not make the child, dlsym does. What the program calls without us waits for nothing.
 */
bool resolve_torn(void)
{
	return own.torn && own.map;
}

void resolve_forked(void)
{
	own.torn = !(&__libc_single_threaded && __libc_single_threaded);
}

static const void *base_of(const void *address)
{
	Dl_info info;
	return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static bool is_ours(const void *address)
{
	return base_of(address) == base_of((const void *)resolve_start);
}

/* ---- objects that were loaded with RTLD_LOCAL ---- */

struct objects {
	const char *library;
	const char *name[OBJECTS]; /* the linker's own copies, which live as long as the objects */
	int used;
};

static int remember(struct dl_phdr_info *info, size_t size, void *list)
{
	struct objects *o = list;
	bool named = info->dlpi_name && info->dlpi_name[0];
	(void)size;
	if (named && (!o->library || strstr(info->dlpi_name, o->library)) && o->used < OBJECTS)
		o->name[o->used++] = info->dlpi_name;
	return 0;
}

/* The symbol as the object and what it needs define it. The object stays loaded, since what is found is kept. */
static void *find_from(const char *object, const char *symbol)
{
	void *handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
	void *at = handle ? dlsym(handle, symbol) : NULL;
	if (at && !is_ours(at))
		return at;
	if (handle)
		dlclose(handle);
	return NULL;
}

/* ---- without calling the linker: its list is read, and the tables of the objects on it ---- */

struct dynamic {
	const char *strings;
	const ElfW(Sym) * symbols;
	const uint32_t *gnu;
	const uint32_t *old;      /* the table before GNU's, where that is missing */
	const uint16_t *versions; /* NULL = there are none */
};

static const void *in_object(const struct link_map *map, const ElfW(Dyn) * d)
{
	bool moved = d->d_un.d_ptr >= map->l_addr; /* some linkers leave addresses as they are in the file */
	return (const void *)(d->d_un.d_ptr + (moved ? 0 : map->l_addr));
}

static struct dynamic dynamic_of(const struct link_map *map)
{
	struct dynamic found = {0};
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			found.strings = in_object(map, d);
		else if (d->d_tag == DT_SYMTAB)
			found.symbols = in_object(map, d);
		else if (d->d_tag == DT_GNU_HASH)
			found.gnu = in_object(map, d);
		else if (d->d_tag == DT_HASH)
			found.old = in_object(map, d);
		else if (d->d_tag == DT_VERSYM)
			found.versions = in_object(map, d);
	}
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

/* NULL: there is none, or it says itself where the function is. */
static void *function_at(const struct link_map *map, const ElfW(Sym) * s)
{
	return s && ELF64_ST_TYPE(s->st_info) == STT_FUNC ? (void *)(map->l_addr + s->st_value) : NULL;
}

static void *defined_in(const struct link_map *map, const char *symbol)
{
	struct dynamic d = dynamic_of(map);
	return function_at(map, look_up(&d, symbol, gnu_hash(symbol)));
}

/* Of those behind `from`, up to `last`; NULL: all. */
static void *find_in_list(const char *symbol, const char *library, struct link_map *from, struct link_map *last)
{
	void *at = NULL;
	for (struct link_map *map = from; map && map != last && !at; map = map->l_next)
		if (map->l_next && map->l_next != own.map && (!library || strstr(map->l_next->l_name, library)))
			at = defined_in(map->l_next, symbol);
	return at;
}

static const struct link_map *map_of(uintptr_t at)
{
	const struct link_map *found = NULL;
	for (const struct link_map *map = own.map; map; map = map->l_next)
		if (map->l_addr <= at && (!found || map->l_addr > found->l_addr))
			found = map;
	return found;
}

/* In the object itself, and in those that it was linked with. */
static void *find_around(const struct link_map *map, const char *symbol)
{
	struct dynamic d = dynamic_of(map);
	void *at = defined_in(map, symbol);
	for (const ElfW(Dyn) *n = map->l_ld; d.strings && !at && n->d_tag != DT_NULL; n++)
		if (n->d_tag == DT_NEEDED)
			at = find_in_list(symbol, d.strings + n->d_un.d_val, own.map, NULL);
	return at;
}

static void *find_local(const char *symbol, const char *library)
{
	struct objects objects = {.library = library};
	void *at = NULL;
	dl_iterate_phdr(remember, &objects);
	for (int i = 0; i < objects.used && !at; i++)
		at = find_from(objects.name[i], symbol);
	return at;
}

/* Keeps the object of `at` loaded for good: a pointer into it is about to be kept. */
static void *pinned(void *at)
{
	Dl_info info;
	if (at && dladdr(at, &info) && info.dli_fname && info.dli_fname[0])
		(void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	return at;
}

static void *find_global(const char *symbol)
{
	void *at = dlsym(RTLD_NEXT, symbol);
	return at && !is_ours(at) ? at : NULL;
}

/* ---- libc's own ---- */

/* Every caller expects an int or a long. */
static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* NULL: the linker itself must be asked where the function is. */
static void *find_behind_us(const char *name)
{
	uint32_t hash = gnu_hash(name);
	for (const struct link_map *map = own.map; map && map != own.last; map = map->l_next) {
		struct dynamic d = dynamic_of(map->l_next);
		const ElfW(Sym) *found = look_up(&d, name, hash);
		if (found)
			return function_at(map->l_next, found);
	}
	return NULL;
}

/* Its entries are those of glibc's list; no more come to what began with the program. */
static void find_own(void)
{
	struct link_map *map = _r_debug.r_map, *last;
	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	for (last = map; last && last->l_next;)
		last = last->l_next;
	own.last = last;
	__atomic_store_n(&own.map, map, __ATOMIC_RELEASE);
}

/* As dlsym with RTLD_NEXT, at a fifth of its cost and without its lock. */
void *wrap_resolve(const char *name, void **real)
{
	int saved = errno;
	if (!__atomic_load_n(&own.map, __ATOMIC_ACQUIRE))
		find_own();
	void *found = find_behind_us(name);
	if (!found && !resolve_torn())
		found = dlsym(RTLD_NEXT, name);
	errno = saved;
	if (found)
		__atomic_store_n(real, found, __ATOMIC_RELAXED);
	return found ? found : (void *)missing;
}

void resolve_start(void)
{
	find_own();
	pthread_atfork(NULL, NULL, resolve_forked);
}

bool resolve_in_program(void)
{
	return false;
}

/* libiolens.a leaves a note in the programs that it is linked into. */
static bool program_has_runtime(void)
{
	const ElfW(Phdr) *first = (const ElfW(Phdr) *)getauxval(AT_PHDR), *end = first + getauxval(AT_PHNUM);
	uintptr_t base = 0;
	for (const ElfW(Phdr) *p = first; p < end; p++)
		if (p->p_type == PT_PHDR)
			base = (uintptr_t)first - p->p_vaddr;
	for (const ElfW(Phdr) *p = first; p < end; p++)
		if (p->p_type == PT_NOTE &&
		    memmem((const void *)(base + p->p_vaddr), p->p_memsz, "iolens", sizeof "iolens"))
			return true;
	return false;
}

static bool has_wrappers(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return !strncmp(name, "libiolens.so", 12) || !strncmp(name, "libiolens-communication.so", 26);
}

bool resolve_behind(void)
{
	const struct link_map *map = own.map;
	while (map && map->l_prev && !has_wrappers(map->l_prev->l_name))
		map = map->l_prev;
	return (map && map->l_prev) || program_has_runtime();
}

/* ---- everybody else's ---- */

/* What the dynamic linker says and does about an undefined symbol. */
static void undefined(const char *symbol)
{
	char line[512];
	int n = snprintf(line, sizeof line, "%s: symbol lookup error: undefined symbol: %s\n", program_invocation_name,
			 symbol);
	warn_write(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
	for (;;)
		sys_call(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

static void *copy_of(const struct late *l, uintptr_t caller)
{
	for (int i = 0; i < RESOLVE_COPIES; i++) {
		uintptr_t to = __atomic_load_n(&l->copy[i].to, __ATOMIC_ACQUIRE);
		if (to > caller && l->copy[i].from <= caller)
			return l->copy[i].real;
	}
	return NULL;
}

struct extent {
	uintptr_t at, from, to;
};

static int measure(struct dl_phdr_info *info, size_t size, void *out)
{
	struct extent *e = out;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type != PT_LOAD || e->at - from >= info->dlpi_phdr[i].p_memsz)
			continue;
		e->from = from;
		e->to = from + info->dlpi_phdr[i].p_memsz;
		return 1;
	}
	return 0;
}

/* For the callers in the caller's own segment. Places are never given back: who finds none searches every time. */
static void keep_copy(struct late *l, uintptr_t caller, void *real)
{
	struct extent e = {.at = caller};
	dl_iterate_phdr(measure, &e);
	for (int i = 0; e.to && i < RESOLVE_COPIES; i++) {
		uintptr_t none = 0;
		if (!__atomic_compare_exchange_n(&l->copy[i].from, &none, e.from, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		l->copy[i].real = real;
		__atomic_store_n(&l->copy[i].to, e.to, __ATOMIC_RELEASE);
		return;
	}
}

/* As find_for; nothing is kept, because nothing can be pinned. */
static void *find_torn(const struct late *l, const void *caller)
{
	const struct link_map *map = map_of((uintptr_t)caller);
	void *at = find_in_list(l->name, NULL, own.map, own.last);
	if (!at && map && map != own.map && !l->single)
		at = find_around(map, l->name);
	if (!at && l->library)
		at = find_in_list(l->name, l->library, own.map, NULL);
	return at || (l->single && l->library) ? at : find_in_list(l->name, NULL, own.map, NULL);
}

/* As bound without us: the global scope, then the caller's own. A caller that jumps here without a frame has any that there is. */
static void *find_for(struct late *l, const void *caller)
{
	Dl_info info;
	void *at = find_global(l->name);
	if (!at && l->single)
		at = find_local(l->name, l->library);
	if (at) {
		__atomic_store_n(&l->real, pinned(at), __ATOMIC_RELEASE);
		return at;
	}
	if (l->single)
		return NULL;
	if (dladdr(caller, &info) && info.dli_fname && !is_ours(caller))
		at = find_from(info.dli_fname, l->name);
	if (at)
		keep_copy(l, (uintptr_t)caller, pinned(at));
	if (!at && l->library)
		at = find_local(l->name, l->library);
	return at ? at : find_local(l->name, NULL);
}

void *resolve_late(struct late *l, const void *caller)
{
	void *real = copy_of(l, (uintptr_t)caller);
	if (real)
		return real;
	int saved = errno;
	real = resolve_torn() ? find_torn(l, caller) : find_for(l, caller);
	errno = saved;
	real = real ? real : l->instead;
	if (!real)
		undefined(l->name);
	return real;
}

/* Several threads may come at once: they say the same. */
void *resolve_named(struct late *l, const char *name, const char *library, void *instead, const void *caller)
{
	__atomic_store_n(&l->library, library, __ATOMIC_RELAXED);
	__atomic_store_n(&l->instead, instead, __ATOMIC_RELAXED);
	__atomic_store_n(&l->name, name, __ATOMIC_RELAXED);
	return resolve_late(l, caller);
}

/* ---- libraries ---- */

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

bool resolve_find_owner(const char *symbol, const char *library, struct resolve_owner *out)
{
	Dl_info info;
	struct link_map *map = NULL;
	void *at = find_global(symbol);
	at = at ? at : find_local(symbol, library);
	if (!at || !dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	out->path = map->l_name[0] ? map->l_name : NULL;
	out->soname = soname_of(map);
	out->handle = dlopen(out->path, RTLD_LAZY | RTLD_NOLOAD);
	return out->handle;
}

bool resolve_object_of(const void *at, struct resolve_object *out)
{
	Dl_info info;
	struct extent e = {.at = (uintptr_t)at};
	if (resolve_torn())
		return false;
	dl_iterate_phdr(measure, &e);
	if (!e.to || !dladdr(at, &info) || !info.dli_fname)
		return false;
	*out = (struct resolve_object){e.from, e.to, dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)};
	return out->handle;
}

static struct resolve_copied *copy_at(const struct resolve_library *l, size_t i)
{
	return (struct resolve_copied *)((char *)l->copies + i * l->size);
}

static struct resolve_copied *copied_known(const struct resolve_library *l, uintptr_t at)
{
	for (size_t i = 0; i < l->room; i++) {
		struct resolve_copied *c = copy_at(l, i);
		if (__atomic_load_n(&c->to, __ATOMIC_ACQUIRE) > at && c->from <= at)
			return c;
	}
	return NULL;
}

static void learn_copy(const struct resolve_library *l, struct resolve_copied *c, const struct resolve_object *object)
{
	for (const struct resolve_symbol *s = l->symbols; s < l->symbols + l->count; s++) {
		void *found = dlsym(object->handle, s->name);
		memcpy((char *)c + s->at, &found, sizeof found);
		c->declined |= !found && !s->optional;
	}
	if (!c->declined)
		l->learn(c);
	c->from = object->from;
	__atomic_store_n(&c->to, object->to, __ATOMIC_RELEASE);
}

static struct resolve_copied *copied_add(struct resolve_library *l, uintptr_t at)
{
	struct resolve_object object;
	if (!resolve_object_of((const void *)at, &object))
		return NULL;
	uint64_t before = self.gate;
	self.gate = SELF_OWN;
	bool locked = lock_take_deep(&l->lock);
	struct resolve_copied *c = copied_known(l, at);
	for (size_t i = 0; locked && !c && i < l->room; i++)
		if (!copy_at(l, i)->to) {
			c = copy_at(l, i);
			learn_copy(l, c, &object);
		}
	if (locked)
		lock_drop_deep(&l->lock);
	self.gate = before;
	return c;
}

void *resolve_other_copy(struct resolve_library *l, const void *function)
{
	struct resolve_copied *c = copied_known(l, (uintptr_t)function);
	if (!c) {
		int saved = errno;
		c = copied_add(l, (uintptr_t)function);
		errno = saved;
	}
	return c && !c->declined ? c : NULL;
}

bool resolve_own_directory(char *out, size_t room)
{
	Dl_info info;
	char real[PATH_MAX]; /* a session may have preloaded a link */
	if (!dladdr((const void *)resolve_start, &info) || !realpath(info.dli_fname, real) || strlen(real) >= room)
		return false;
	strcpy(out, real);
	char *slash = strrchr(out, '/');
	if (slash)
		slash[1] = '\0';
	return slash;
}
