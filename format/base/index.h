/* Numbers keys 0, 1, 2... in the order they are first seen. */
#ifndef IOLENS_INDEX_H
#define IOLENS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc.h"

struct index {
	struct index_slot {
		uint64_t key;
		size_t number; /* plus 1; 0 = free */
	} * slots;
	size_t size, used;
};

/* Number of the key, new or known; SIZE_MAX when there is no memory. */
size_t index_number(struct index *x, uint64_t key, bool *is_new);
/* Number of a known key; SIZE_MAX for others. */
size_t index_find(const struct index *x, uint64_t key);
void index_free(struct index *x);

/* Makes room in an array for a new element after `used` ones, doubling it; false when there is no memory. Freed by log_free. */
bool index_grow(void *array_pointer, size_t used, size_t element);

/* The same for texts, by their bytes: two of one hash are two. */
struct text_index {
	struct index hashes;
	struct log_bytes bytes;
	struct text_place {
		size_t at, length;
	} * places; /* by number */
};

/* Number of the text, which may be any bytes, new or known; SIZE_MAX when there is no memory. */
size_t text_number(struct text_index *x, const void *text, size_t n, bool *is_new);
/* Number of a known text; SIZE_MAX for others. */
size_t text_find(const struct text_index *x, const void *text, size_t n);
void text_index_free(struct text_index *x);

#endif
