/*
 * The last steps to one name per file, beyond Darshan's rules: `a/../b` is `b` and `a/.` is `a`.
 */
#ifndef IOLENS_PATH_H
#define IOLENS_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"

enum { NAMES_PATH_MAX = 4096 };

struct path {
	uint32_t length;
	char text[NAMES_PATH_MAX];
};

/*
 * Room for a path outside the stack: a signal handler may have 8 KiB of stack in all, and the kernel takes four of them. NULL
 * if all 256 are in use, or there is no memory. PATH declares one, on the stack if need be.
 */
struct path *path_take(void);
void path_give(struct path **p);
#define PATH(name)                                                           \
	struct path *name __attribute__((cleanup(path_give))) = path_take(); \
	name = name ? name : __builtin_alloca(sizeof *name)

/* The thread leaves its stack for one whose pointer is `target`: what it holds deeper down is free. */
void path_jumped(uintptr_t target);

/* A forked child: what threads of its parent hold is free. */
void path_forked(void);

/* A cleaned path without a slash or `/.` at its end. */
void path_trim(struct path *p);

/* Drops each `a/..` whose `a` is there and no symbolic link; what a link leads to has another parent. Asks the kernel for each. */
void path_resolve(struct path *p);

bool path_starts(const struct path *p, const char *prefix);

/* What a path that gets no records by default counts as; STATE_CLASS_NONE for one that is not excluded. */
enum state_class_id path_excluded(const struct path *p);

/* Below an excluded directory, and yet recorded. */
bool path_rescued(const struct path *p);

#endif
