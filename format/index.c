#include "index.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 64 };

/* Keys come from the log; mixing in an address that changes with every run keeps them from being made to collide. */
static size_t start(const struct index *x, uint64_t key)
{
	key ^= (uint64_t)(uintptr_t)x->slots;
	key = (key ^ key >> 31) * 0x9e3779b97f4a7c15;
	key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9;
	return (size_t)(key ^ key >> 32) & (x->size - 1);
}

static struct index_slot *find(const struct index *x, uint64_t key)
{
	size_t i = start(x, key);
	while (x->slots[i].number && x->slots[i].key != key)
		i = (i + 1) & (x->size - 1);
	return &x->slots[i];
}

static bool widen(struct index *x)
{
	struct index old = *x;
	x->size = old.size ? old.size * 2 : FIRST_SIZE;
	x->slots = calloc(x->size, sizeof *x->slots);
	if (!x->slots) {
		*x = old;
		return false;
	}
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].number)
			*find(x, old.slots[i].key) = old.slots[i];
	free(old.slots);
	return true;
}

size_t index_number(struct index *x, uint64_t key, bool *is_new)
{
	if (x->used * 2 >= x->size && !widen(x))
		return SIZE_MAX;
	struct index_slot *s = find(x, key);
	*is_new = !s->number;
	if (*is_new)
		*s = (struct index_slot){key, ++x->used};
	return s->number - 1;
}

size_t index_find(const struct index *x, uint64_t key)
{
	return x->size ? find(x, key)->number - 1 : SIZE_MAX;
}

void index_free(struct index *x)
{
	free(x->slots);
	*x = (struct index){0};
}

bool index_grow(void *array_pointer, size_t used, size_t element)
{
	void *array;
	if (used && (used < FIRST_SIZE || (used & (used - 1))))
		return true;
	memcpy(&array, array_pointer, sizeof array);
	array = realloc(array, (used ? used * 2 : FIRST_SIZE) * element);
	if (!array)
		return false;
	memcpy(array_pointer, &array, sizeof array);
	return true;
}
