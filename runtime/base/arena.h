/*
 * Volatile memory of the runtime: bump allocation from anonymous mappings, never given back, safe in
 * threads, signal handlers and forked children. No malloc, because malloc may be what called us.
 */
#ifndef IOLENS_ARENA_H
#define IOLENS_ARENA_H

#include <stddef.h>

/*
 * Zeroed memory aligned to 16 bytes, or NULL. Blocks of more than 32 bytes have cache lines of their own: what two
 * threads keep of two files must not share one.
 */
void *arena_take(size_t n);

/* A NUL-terminated copy, or NULL. */
char *arena_copy(const char *text, size_t n);

/* Makes `n` bytes, of at most 256 KiB, ready to be taken later without asking the kernel. */
void arena_reserve(size_t n);

/*
 * In a forked child. What is left is used up: each mapping more makes the forks of later generations dearer. Not where another thread
 * may have been inside arena_take, or written while the kernel copied, and not in a handler that has interrupted arena_take.
 */
void arena_reset(void);

#endif
