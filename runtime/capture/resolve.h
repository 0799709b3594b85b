/*
 * Where the function behind a wrapper is: the next definition of its name, another preloaded library's or the real one.
 *
 * What libc exports is found when the library starts (struct wrap). Everything else is a struct late: its library may come
 * with a dlopen at any time, out of sight of the global scope, and more than once. A miss is never kept.
 */
#ifndef IOLENS_RESOLVE_H
#define IOLENS_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- libc's own ---- */

struct wrap {
	const char *name;
	void **real;
};

void wrap_resolve_all(void);

/* A function that fails with ENOSYS where this libc has none. */
void *wrap_resolve(const struct wrap *w);

/* ---- functions of every other library ---- */

enum { RESOLVE_COPIES = 4 };

/* A definition that only some callers see: those in [from, to). */
struct resolve_copy {
	uintptr_t from, to;
	void *real;
};

struct late {
	const char *name;
	void *real; /* what every caller means; NULL until found */
	void *instead; /* answers as long as there is none; NULL: the process ends, as by the linker's "undefined symbol" */
	const char *library; /* part of the file names of the libraries that may define it, NULL = any */
	bool single;         /* one per process: every caller means the same */
	struct resolve_copy copy[RESOLVE_COPIES];
};

void *resolve_late(struct late *l, const void *caller);

static inline void *resolve_next(struct late *l, const void *caller)
{
	void *real = __atomic_load_n(&l->real, __ATOMIC_ACQUIRE);
	return __builtin_expect(real != NULL, 1) ? real : resolve_late(l, caller);
}

/* ---- libraries ---- */

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

/* The code around an address, and its object for dlsym. It stays loaded. False: it has none. */
struct resolve_object {
	uintptr_t from, to;
	void *handle;
};

bool resolve_object_of(const void *at, struct resolve_object *out);

/* The directory of our own library, with its slash; false when unknown. */
bool resolve_own_directory(char *out, size_t room);

#endif
