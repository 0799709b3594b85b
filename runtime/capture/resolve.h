/*
 * Where the function behind a wrapper is: the next definition of its name, another preloaded library's or the real one.
 *
 * What libc exports is found among the objects that began with the program. Everything else is a struct late: its library may
 * come with a dlopen at any time, out of sight of the global scope, and more than once. A miss is kept until more is loaded.
 */
#ifndef IOLENS_RESOLVE_H
#define IOLENS_RESOLVE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"

/* ---- libc's own ---- */

/* Before the program begins, and anything is asked of libraries. */
void resolve_start(void);

/*
 * The function, kept in `real`; one that fails with ENOSYS, and is not kept, where this libc has none. May be called anywhere, in
 * a signal handler and in a forked child, too: most programs call few of the functions, so that all are not found at the start.
 */
__attribute__((cold)) void *wrap_resolve(const char *name, void **real);

/* Another thread may be finding it at the same moment. */
static inline __attribute__((always_inline)) void *wrap_real(const char *name, void **real)
{
	void *at = __atomic_load_n(real, __ATOMIC_RELAXED);
	return __builtin_expect(at != NULL, 1) ? at : wrap_resolve(name, real);
}

/*
 * True where another iolens observes the process: one that was linked into the program, or a library that stands before this
 * one. What comes second passes through.
 */
bool resolve_behind(void);

/* True where the runtime was linked into the program itself. */
bool resolve_in_program(void);

/*
 * A program that the runtime is linked into (linked/resolve.c stands in for resolve.c) has no dynamic linker to ask: the build
 * gathers the names that are looked up by text from this section.
 */
#define RESOLVE_NAMES __attribute__((section("iolens_names"), used))

/* Such a name, in an expression. */
#define RESOLVE_NAME(text)                                      \
	({                                                      \
		static const char name_[] RESOLVE_NAMES = text; \
		name_;                                          \
	})

/* Where the linker put the function or variable; NULL: the program is linked without it. In linked/ alone. */
void *resolve_linked(const char *name);

/* ---- functions of every other library ---- */

enum { RESOLVE_COPIES = 16 };
#define RESOLVE_CHANGING UINT64_MAX

/* A definition that only some callers see: those in [from, to), until the program unloads something. */
struct resolve_copy {
	uint64_t since; /* how often it had; 0 = empty, RESOLVE_CHANGING = being written */
	uintptr_t from, to;
	void *real;
};

struct late {
	const char *name;
	void *real; /* what every caller means; NULL until found */
	void *instead; /* answers as long as there is none; NULL: the process ends, as by the linker's "undefined symbol", or
			  gets -1 where the program has found it by a weak reference or dlsym */
	const char *library; /* part of the file names of the libraries that may define it, NULL = any */
	bool single;         /* one per process: every caller means the same */
	uint64_t missed; /* how many objects the linker had loaded when it was not found; 0 = it was not looked for */
	struct resolve_copy copy[RESOLVE_COPIES];
};

void *resolve_late(struct late *l, const void *caller);

/* The same for one of which nothing is said yet but what is given here. */
void *resolve_named(struct late *l, const char *name, const char *library, void *instead, const void *caller);

/* ---- libraries ---- */

/* The program is about to unload something: what pointers are kept into must stay. And it has: its callers may be gone. */
void resolve_unloading(void);
void resolve_unloaded(void);

/* A forked child of a program with threads, in which nothing of the dynamic linker may be called. */
bool resolve_torn(void);
/* The process is a forked child. */
void resolve_forked(void);

struct resolve_owner {
	void *handle;       /* for dlsym */
	const char *path;   /* of the shared object that defines the symbol */
	const char *soname; /* "" = it has none: the program itself */
};

/* False when no object with `library` in its name, and none of the global scope, defines the symbol. */
bool resolve_find_owner(const char *symbol, const char *library, struct resolve_owner *out);

/*
 * A library that a module asks by itself, of which a process may have several copies (a wheel brings its own). What is kept
 * of one copy begins with a struct resolve_copied; resolve_library_of(&library, function) is the one that a function is of.
 */
struct resolve_copied {
	uintptr_t from, to; /* its code */
	bool declined;      /* a release that was not tested, or a part of it is missing */
};

struct resolve_symbol {
	const char *name;
	size_t at; /* of the pointer to it in what is kept of a copy */
	bool optional;
};

struct resolve_library {
	void *copies; /* zeros */
	size_t size;  /* of what is kept of one */
	size_t room;  /* for so many */
	const struct resolve_symbol *symbols;
	size_t count;
	void (*learn)(void *copy); /* its functions are found; it may be declined */
	struct lock lock; /* guards new copies; the end of one is atomic, and stored last: it is read without */
};

__attribute__((cold)) void *resolve_other_copy(struct resolve_library *l, const void *function);

/* The copy that a function is of; NULL: it is declined, or there is no room for it. Keeps errno. Mostly there is but one. */
static inline void *resolve_library_of(struct resolve_library *l, const void *function)
{
	const struct resolve_copied *c = l->copies;
	uintptr_t at = (uintptr_t)function;
	bool known = __atomic_load_n(&c->to, __ATOMIC_ACQUIRE) > at && c->from <= at && !c->declined;
	return __builtin_expect(known, 1) ? l->copies : resolve_other_copy(l, function);
}

/*
 * Such a module lists its functions as FUNCTIONS(X) of X(type, symbol, parameters), those that not every release has at the end:
 *
 *	struct x_library { struct resolve_copied copied; FUNCTIONS(RESOLVE_POINTER) ... what else it knows of a copy ... };
 *	static struct x_library copies[8];
 *	FUNCTIONS(RESOLVE_SYMBOL_NAME)
 *	#define SYMBOL(type, symbol, parameters) RESOLVE_SYMBOL(struct x_library, first_optional, symbol)
 *	static const struct resolve_symbol symbols[] = {FUNCTIONS(SYMBOL)};
 *	static struct resolve_library library = RESOLVE_LIBRARY(copies, symbols, learn);
 */
#define RESOLVE_POINTER(type, symbol, parameters)     type(*symbol) parameters;
#define RESOLVE_SYMBOL_NAME(type, symbol, parameters) static const char name_##symbol[] RESOLVE_NAMES = #symbol;
#define RESOLVE_SYMBOL(library, first_optional, symbol) \
	{name_##symbol, offsetof(library, symbol), offsetof(library, symbol) >= offsetof(library, first_optional)},
#define RESOLVE_LIBRARY(copies, symbols, learn)                                                                    \
	{                                                                                                          \
		copies, sizeof *copies, sizeof copies / sizeof *copies, symbols, sizeof symbols / sizeof *symbols, \
			learn,                                                                                     \
		{                                                                                                  \
			0                                                                                          \
		}                                                                                                  \
	}

/* The entry of an object in the linker's list, inside dl_iterate_phdr. NULL: it has none. */
const struct link_map *resolve_map_of(const struct dl_phdr_info *info);

/* What an object that began with the program defines, the program itself among them. NULL: none does. Takes no lock. */
void *resolve_began(const char *symbol);

/* What an object itself defines; it stays loaded. NULL: nothing of that name. */
void *resolve_defined_by(const struct link_map *map, const char *symbol);

/* The directory of our own library, with its slash; false when unknown. */
bool resolve_own_directory(char *out, size_t room);

#endif
