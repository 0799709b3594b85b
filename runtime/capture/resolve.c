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

#include "objects.h"
#include "thread.h"
#include "sys.h"
#include "warn.h"

enum { OBJECTS = 1024 };

/* ---- forked children of programs with threads ---- */

extern char __libc_single_threaded __attribute__((weak));

/* Written at the start and in a forked child, by its one thread. */
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

struct named {
	const char *library;
	const char *name[OBJECTS]; /* the linker's own copies, which live as long as the objects */
	int used;
};

static int remember(struct dl_phdr_info *info, size_t size, void *list)
{
	struct named *o = list;
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

static void *find_local(const char *symbol, const char *library)
{
	struct named objects = {.library = library};
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

/* What began with the program and stands behind us: as RTLD_NEXT has it, before what came by dlopen. */
static struct objects behind_us(void)
{
	return (struct objects){own.map ? own.map->l_next : NULL, own.last ? own.last->l_next : NULL, NULL};
}

/* What came with the program and later, ourselves left out. */
static struct objects all_others(void)
{
	return (struct objects){own.map, NULL, own.map};
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
	struct objects behind = behind_us();
	void *found = objects_definer(&behind, name, 1).at; /* NULL: the linker itself must be asked where it is */
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
	objects_unbind_weak(own.map);
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

bool resolve_behind(void)
{
	const struct link_map *map = own.map;
	while (map && map->l_prev && !objects_wraps(map->l_prev))
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

/* One more than how often the program has called dlclose. Atomic: any thread that does adds to it. */
static uint64_t unloads = 1;

static void *copy_of(const struct late *l, uintptr_t caller)
{
	uint64_t now = __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
	for (const struct resolve_copy *c = l->copy; c < l->copy + RESOLVE_COPIES; c++) {
		uint64_t since = __atomic_load_n(&c->since, __ATOMIC_ACQUIRE);
		uintptr_t from = __atomic_load_n(&c->from, __ATOMIC_RELAXED);
		uintptr_t to = __atomic_load_n(&c->to, __ATOMIC_RELAXED);
		void *real = __atomic_load_n(&c->real, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (since == now && to > caller && from <= caller &&
		    __atomic_load_n(&c->since, __ATOMIC_RELAXED) == since)
			return real;
	}
	return NULL;
}

struct extent {
	uintptr_t at, from, to;
	const struct link_map *map;
};

/* In dl_iterate_phdr: the list stays as it is. */
const struct link_map *resolve_map_of(const struct dl_phdr_info *info)
{
	const struct link_map *map = _r_debug.r_map;
	while (map && (map->l_addr != info->dlpi_addr || map->l_name != info->dlpi_name))
		map = map->l_next;
	return map;
}

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
		e->map = resolve_map_of(info);
		return 1;
	}
	return 0;
}

/* For the callers in the caller's own segment. Where no place is empty or out of date, it is searched every time. */
static void keep_copy(struct late *l, uintptr_t caller, void *real)
{
	struct extent e = {.at = caller};
	uint64_t now = __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
	dl_iterate_phdr(measure, &e);
	for (struct resolve_copy *c = l->copy; e.to && c < l->copy + RESOLVE_COPIES; c++) {
		uint64_t since = __atomic_load_n(&c->since, __ATOMIC_RELAXED);
		if (since >= now || !__atomic_compare_exchange_n(&c->since, &since, RESOLVE_CHANGING, false,
								 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&c->from, e.from, __ATOMIC_RELAXED);
		__atomic_store_n(&c->to, e.to, __ATOMIC_RELAXED);
		__atomic_store_n(&c->real, real, __ATOMIC_RELAXED);
		__atomic_store_n(&c->since, now, __ATOMIC_RELEASE);
		return;
	}
}

/*
 * Objects that pointers are kept into. They must stay, but to pin them takes the linker's lock, whose holder may be a constructor
 * that waits for this very thread. It is time enough when the program is about to unload something.
 */
enum { UNPINNED = 64 };

static const void
	*unpinned[UNPINNED]; /* their dynamic sections; atomic: any thread takes a free place, and empties it */

static bool pin_later(const struct link_map *map)
{
	for (int i = 0; map && i < UNPINNED; i++) {
		const void *there = NULL;
		if (__atomic_compare_exchange_n(&unpinned[i], &there, map->l_ld, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE) ||
		    there == map->l_ld)
			return true;
	}
	return false;
}

void resolve_unloading(void)
{
	int saved = errno;
	for (int i = 0; i < UNPINNED && !resolve_torn(); i++)
		(void)pinned((void *)__atomic_exchange_n(&unpinned[i], NULL, __ATOMIC_ACQ_REL));
	errno = saved;
}

void resolve_unloaded(void)
{
	__atomic_fetch_add(&unloads, 1, __ATOMIC_ACQ_REL);
}

/* As find_for; nothing is kept, because nothing can be pinned. */
static void *find_torn(const struct late *l, const void *caller)
{
	struct objects behind = behind_us(), others = all_others();
	const struct link_map *map = objects_around(&(struct objects){own.map, NULL, NULL}, (uintptr_t)caller);
	void *at = objects_find(&behind, l->name, NULL);
	if (!at && map && map != own.map && !l->single)
		at = objects_seen_from(&others, map, l->name);
	if (!at && l->library)
		at = objects_find(&others, l->name, l->library);
	return at || (l->single && l->library) ? at : objects_find(&others, l->name, NULL);
}

/* As bound without us: the global scope, then the caller's own. A caller that jumps here without a frame has any that there is. */
static void *ask_linker(struct late *l, const void *caller)
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

struct late_look {
	const char *symbol; /* NULL: how much was loaded is all that is asked */
	struct objects_definer found;
	uint64_t loaded;
};

static int look(struct dl_phdr_info *info, size_t size, void *out)
{
	struct late_look *l = out;
	struct objects later = {own.last ? own.last->l_next : NULL, NULL, NULL};
	(void)size;
	l->loaded = info->dlpi_adds;
	if (l->symbol)
		l->found = objects_definer(&later, l->symbol, 2);
	return 1;
}

/* What it does not find cannot be there before the linker has loaded more. */
static bool still_missing(const struct late *l)
{
	struct late_look now = {.symbol = NULL};
	uint64_t missed = __atomic_load_n(&l->missed, __ATOMIC_RELAXED);
	if (missed && l->instead)
		dl_iterate_phdr(look, &now);
	return missed && now.loaded == missed;
}

/*
 * Where there is one definition, every caller was bound to it, and the linker need not be asked: a thread that did would wait for
 * a constructor under dlopen().
 */
static void *find_for(struct late *l, const void *caller)
{
	struct objects behind = behind_us();
	struct objects_definer found = objects_definer(&behind, l->name, 1);
	struct late_look later = {.symbol = l->name};
	if (found.at) {
		__atomic_store_n(&l->real, found.at, __ATOMIC_RELEASE);
		return found.at;
	}
	if (found.count)
		return ask_linker(l, caller);
	dl_iterate_phdr(look, &later);
	if (!later.found.count)
		__atomic_store_n(&l->missed, later.loaded, __ATOMIC_RELAXED);
	if (later.found.count != 1 || !later.found.at || !pin_later(later.found.map))
		return later.found.count ? ask_linker(l, caller) : NULL;
	if (l->single)
		__atomic_store_n(&l->real, later.found.at, __ATOMIC_RELEASE);
	else
		keep_copy(l, (uintptr_t)caller, later.found.at);
	return later.found.at;
}

void *resolve_late(struct late *l, const void *caller)
{
	void *real = copy_of(l, (uintptr_t)caller);
	if (real)
		return real;
	int saved = errno;
	if (resolve_torn())
		real = find_torn(l, caller);
	else if (!still_missing(l))
		real = find_for(l, caller);
	errno = saved;
	real = real ? real : l->instead;
	if (!real && objects_need(own.map, l->name, resolve_torn()))
		undefined(l->name);
	return real ? real : (void *)missing;
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

static void learn_copy(const struct resolve_library *l, struct resolve_copied *c, const struct extent *object)
{
	for (const struct resolve_symbol *s = l->symbols; s < l->symbols + l->count; s++) {
		void *found = objects_defined_in(object->map, s->name);
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
	struct extent object = {.at = at};
	if (resolve_torn() || !dl_iterate_phdr(measure, &object) || !pin_later(object.map))
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

void *resolve_began(const char *symbol)
{
	struct objects o = {_r_debug.r_map, own.last ? own.last->l_next : NULL, own.map};
	return objects_find(&o, symbol, NULL);
}

void *resolve_defined_by(const struct link_map *map, const char *symbol)
{
	void *at = objects_defined_in(map, symbol);
	return at && pin_later(map) ? at : NULL;
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
