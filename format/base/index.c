#include "index.h"

#include <string.h>

#include "hash.h"

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
	x->slots = log_memory.alloc_zeroed(x->size, sizeof *x->slots);
	if (!x->slots) {
		*x = old;
		return false;
	}
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].number)
			*find(x, old.slots[i].key) = old.slots[i];
	log_free(old.slots);
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
	log_free(x->slots);
	*x = (struct index){0};
}

bool index_grow(void *array_pointer, size_t used, size_t element)
{
	void *array, *wider;
	if (used && (used < FIRST_SIZE || (used & (used - 1))))
		return true;
	memcpy(&array, array_pointer, sizeof array);
	wider = log_memory.alloc((used ? used * 2 : FIRST_SIZE) * element);
	if (!wider)
		return false;
	if (used)
		memcpy(wider, array, used * element);
	log_free(array);
	memcpy(array_pointer, &wider, sizeof wider);
	return true;
}

/* ---- of texts ---- */

static bool is_text(const struct text_index *x, size_t number, const void *text, size_t n)
{
	const struct text_place *p = &x->places[number];
	return p->length == n && (!n || !memcmp(x->bytes.at + p->at, text, n));
}

static bool keep(struct text_index *x, size_t number, const void *text, size_t n)
{
	if (!index_grow(&x->places, number, sizeof *x->places))
		return false;
	x->places[number] = (struct text_place){x->bytes.used, n};
	return !n || log_bytes_add(&x->bytes, text, n) >= 0;
}

size_t text_number(struct text_index *x, const void *text, size_t n, bool *is_new)
{
	size_t number;
	uint64_t level = 0;
	do
		number = index_number(&x->hashes, log_hash(text, n, level++), is_new);
	while (number != SIZE_MAX && !*is_new && !is_text(x, number, text, n)); /* another text has that hash */
	return number == SIZE_MAX || (*is_new && !keep(x, number, text, n)) ? SIZE_MAX : number;
}

size_t text_find(const struct text_index *x, const void *text, size_t n)
{
	size_t number;
	uint64_t level = 0;
	do
		number = index_find(&x->hashes, log_hash(text, n, level++));
	while (number != SIZE_MAX && !is_text(x, number, text, n));
	return number;
}

void text_index_free(struct text_index *x)
{
	index_free(&x->hashes);
	log_bytes_free(&x->bytes);
	log_free(x->places);
	*x = (struct text_index){0};
}
