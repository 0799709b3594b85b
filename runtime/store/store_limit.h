/*
 * How large a store may become. All stores of a directory together take at most a quarter of what its file system has free: the
 * rest is for the program, whose own shared memory is often on the same one (/dev/shm, of 64 MiB in containers) and which a page
 * that cannot be had would kill.
 */
#ifndef IOLENS_STORE_LIMIT_H
#define IOLENS_STORE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

enum { STORE_LEAST = 64 * 1024 }; /* bytes: of a process that does little */

/*
 * The new store in the open directory, which is there and empty, may stay. It is asked only then: of many processes that begin at once,
 * each sees the stores of all others.
 */
bool store_limit_begin(int directory);

/* The store `path` has `own` bytes, and may have so many more. One thread at a time: it takes little of its stack. */
bool store_limit_grow(const char *path, size_t own, size_t more);

#endif
