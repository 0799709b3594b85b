/*
 * Where the function behind a wrapper is, for programs that the runtime is linked into (libiolens.a): the build has put down the
 * address of each name that the runtime wraps or asks for, as the linker resolved it. Nothing of the dynamic linker is called.
 */
#include "resolve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "self.h"
#include "sys.h"
#include "warn.h"

/* Made by tools/linked_library.py from the built objects, sorted by name. */
struct linked_name {
	const char *name;
	void *at; /* NULL: the program was linked without it */
};

__attribute__((visibility("hidden"))) extern const struct linked_name linked_names[];
__attribute__((visibility("hidden"))) extern const uint64_t linked_count;

/* ---- libc's own ---- */

/* How others know that the runtime is in this program: what watches the start of programs, and a preloaded library. */
__asm__(".pushsection .note.iolens, \"a\", %note\n.balign 4\n.long 7, 0, 1\n.asciz \"iolens\"\n.balign 4\n.popsection");

void *resolve_linked(const char *name)
{
	uint64_t from = 0, to = linked_count;
	while (from < to) {
		uint64_t at = from + (to - from) / 2;
		int order = strcmp(name, linked_names[at].name);
		if (order == 0)
			return linked_names[at].at;
		from = order > 0 ? at + 1 : from;
		to = order > 0 ? to : at;
	}
	return NULL;
}

/* Every caller expects an int or a long. */
static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

void *wrap_resolve(const char *name, void **real)
{
	void *found = resolve_linked(name);
	if (found)
		__atomic_store_n(real, found, __ATOMIC_RELAXED);
	return found ? found : (void *)missing;
}

void resolve_start(void)
{
}

/* ---- everybody else's ---- */

/* What the dynamic linker says and does about an undefined symbol. */
static void undefined(const char *symbol)
{
	char line[512];
	int n = snprintf(line, sizeof line, "%s: linked without %s\n", program_invocation_name, symbol);
	warn_write(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
	for (;;)
		sys_call(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

void *resolve_late(struct late *l, const void *caller)
{
	void *real = resolve_linked(l->name);
	(void)caller;
	if (real)
		__atomic_store_n(&l->real, real, __ATOMIC_RELEASE);
	real = real ? real : l->instead;
	if (!real)
		undefined(l->name);
	return real;
}

void *resolve_named(struct late *l, const char *name, const char *library, void *instead, const void *caller)
{
	__atomic_store_n(&l->library, library, __ATOMIC_RELAXED);
	__atomic_store_n(&l->instead, instead, __ATOMIC_RELAXED);
	__atomic_store_n(&l->name, name, __ATOMIC_RELAXED);
	return resolve_late(l, caller);
}

/* ---- the dynamic linker's locks: none of them is ever taken ---- */

bool resolve_torn(void)
{
	return false;
}

void resolve_forked(void)
{
}

/* ---- other libraries of iolens ---- */

bool resolve_in_program(void)
{
	return true;
}

/* A preloaded library of iolens stands back. */
bool resolve_behind(void)
{
	return false;
}

/* ---- libraries: one copy of each ---- */

static void learn_copy(const struct resolve_library *l, struct resolve_copied *c)
{
	for (const struct resolve_symbol *s = l->symbols; s < l->symbols + l->count; s++) {
		void *found = resolve_linked(s->name);
		memcpy((char *)c + s->at, &found, sizeof found);
		c->declined |= !found && !s->optional;
	}
	if (!c->declined)
		l->learn(c);
	__atomic_store_n(&c->to, UINTPTR_MAX, __ATOMIC_RELEASE);
}

void *resolve_other_copy(struct resolve_library *l, const void *function)
{
	struct resolve_copied *c = l->copies;
	(void)function;
	if (!__atomic_load_n(&c->to, __ATOMIC_ACQUIRE)) {
		int saved = errno;
		uint64_t before = self_work();
		if (lock_take_deep(&l->lock)) {
			if (!c->to)
				learn_copy(l, c);
			lock_drop_deep(&l->lock);
		}
		self.gate = before;
		errno = saved;
	}
	return __atomic_load_n(&c->to, __ATOMIC_ACQUIRE) && !c->declined ? c : NULL;
}

/* An interpreter that is linked into the program is not looked for. */
const struct link_map *resolve_map_of(const struct dl_phdr_info *info)
{
	(void)info;
	return NULL;
}

void *resolve_began(const char *symbol)
{
	(void)symbol;
	return NULL;
}

void *resolve_defined_by(const struct link_map *map, const char *symbol)
{
	(void)map;
	(void)symbol;
	return NULL;
}
