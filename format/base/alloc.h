/*
 * All memory of the log library comes from here, so that the preload library can supply its own: in the
 * observed process malloc may be the very function that is being interrupted.
 */
#ifndef IOLENS_ALLOC_H
#define IOLENS_ALLOC_H

#include <stddef.h>
#include <stdint.h>

struct log_memory {
	void *(*alloc)(size_t size); /* NULL when there is none; aligned to 16 */
	void *(*alloc_zeroed)(size_t n,
			      size_t size); /* n times size; what is fresh from the kernel need not be touched */
	void (*free)(void *block);          /* block may be NULL */
};

extern struct log_memory log_memory; /* malloc, calloc and free unless changed */

/* Zeroed memory. */
void *log_alloc(size_t size);
void log_free(void *block);

/* Bytes that grow by doubling. */
struct log_bytes {
	uint8_t *at;
	size_t used;
	size_t room;
};

/* Makes room for n more bytes; 0 or LOG_E_MEMORY. */
int log_bytes_room(struct log_bytes *b, size_t n);
int log_bytes_add(struct log_bytes *b, const void *data, size_t n);
void log_bytes_free(struct log_bytes *b);

/* As qsort, which may call malloc. What compares equal keeps its order, unless there is no memory. */
void log_sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
