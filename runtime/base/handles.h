/*
 * From the number under which a library knows what is open to what is kept of it. Looking up takes no lock. The memory of what
 * was removed keeps its type for ever: a thread that raced with the close may still look at it.
 *
 *	struct x_open {
 *		struct handle handle;
 *		... what is kept ...
 *	};
 *	static struct handles opens = {.size = sizeof(struct x_open)};
 */
#ifndef IOLENS_HANDLES_H
#define IOLENS_HANDLES_H

#include <stddef.h>
#include <stdint.h>

#include "lock.h"

struct handle {
	struct handle *next_unused;
};

struct handle_table;

struct handles {
	size_t size;                         /* of what is kept of one */
	struct handle_table *table, *before; /* the one that it replaced */
	struct handle *unused;
	struct lock lock; /* guards changes; the table, its numbers and entries are atomic: they are read without */
};

/* NULL: not known. The number 0 never is. */
void *handles_find(const struct handles *h, uintptr_t number);

/* Keeps a copy of `what` under the number, in the place of what was there; NULL when memory is short. */
void *handles_add(struct handles *h, uintptr_t number, const void *what);

/* Now unknown, and the caller's until handles_release; NULL if it was not known. */
void *handles_remove(struct handles *h, uintptr_t number);
void handles_release(struct handles *h, void *what);

/* In a forked child: nothing is open. */
void handles_forget(struct handles *h);

#endif
