/*
 * Calls, bytes and seconds by line of Python code: of each file, kind of call and stack a sum in the store (process_state.h).
 * Calls that take no clock do not come here: those that do stand for them, and readers scale the sums to the counters of the
 * file's record (docs/decisions/0052-python-lines.md).
 */
#ifndef IOLENS_LINES_H
#define IOLENS_LINES_H

#include "file.h"
#include "self.h"

struct lines_call {
	enum written slot;
	enum io_op op;
	int64_t calls; /* that this one stands for; 0: there is no counter of them */
	int64_t bytes; /* of it */
	double start, end;
};

/* Inside self_enter; a file's lock may be held. Only of a thread that is `lined`. */
void lines_add(const struct file *f, const struct lines_call *c);

/* A module that looks at them, too; NULL = there is none. Set once. */
extern void (*lines_also)(const struct file *f, const struct lines_call *c) __attribute__((visibility("hidden")));

/* Calls of one kind to a file of the calling thread, if it may be in Python code. Others pay two instructions. */
#define LINES(f, ...)                                                                   \
	do {                                                                            \
		if (__builtin_expect(self.lined, 0))                                    \
			lines_add(&(f)->file, &(const struct lines_call){__VA_ARGS__}); \
	} while (0)

#endif
