/* Numbers keys 0, 1, 2... in the order they are first seen. */
#ifndef IOLENS_INDEX_H
#define IOLENS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Makes room in an array for a new element after `used` ones, doubling it; false when there is no memory. */
bool index_grow(void *array_pointer, size_t used, size_t element);

#endif
