/*
 * Memory that a program gave us, and that has to be looked at before the kernel has accepted it: whether it can be read. Asks the
 * kernel, a page at a time; what cannot be asked about is taken as unreadable.
 */
#ifndef IOLENS_READABLE_H
#define IOLENS_READABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

bool readable(const void *at, size_t n);

/* A text with its NUL; NULL is none. */
bool readable_text(const char *text);

/*
 * What another thread may change or free meanwhile, as an environment: read through the kernel, which copies what is there and
 * raises no signal. In a process with one thread it is read where it lies, once the kernel was asked about its page: a shell starts
 * thousands of programs, each with some 40 variables. Begins empty.
 */
enum { READABLE_COPY = 512 };

struct readable_copy {
	uintptr_t page; /* the last one that was asked about and can be read; 0 = none */
	const char *at; /* of the first byte that is copied */
	size_t n;
	char bytes[READABLE_COPY];
};

/* The bytes at `at`, one or more (*n); NULL: they cannot be read. */
const char *readable_bytes(struct readable_copy *c, const char *at, size_t *n);

/* Does the text begin so? */
bool readable_begins(struct readable_copy *c, const char *text, const char *with);

/* Its bytes without the NUL; -1: it cannot be read. */
ssize_t readable_length(struct readable_copy *c, const char *text);

/* Entry n of a list as exec takes it; NULL at its end. False: it cannot be read, or is longer than any that exec takes. */
bool readable_entry(struct readable_copy *c, char *const *list, size_t n, char **entry);

/* The value of a variable of such a list, cut to `room` bytes with the NUL. False: it has none. */
bool readable_variable(char *const *list, const char *name, char *value, size_t room);

#endif
