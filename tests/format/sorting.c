#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "index.h"
#include "unit.h"

enum { MOST = 3000 };

struct row {
	uint32_t key;
	uint32_t place;
	char rest[5];
};

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

static void fill(struct row *rows, size_t n, uint32_t keys, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		rows[i] = (struct row){.key = (uint32_t)(unit_random(&seed) % keys), .place = (uint32_t)i};
		memcpy(rows[i].rest, &rows[i].key, sizeof rows[i].key);
	}
}

static void check_sorted(const struct row *rows, size_t n, bool stable)
{
	uint64_t places = 0;
	for (size_t i = 0; i < n; i++) {
		places += rows[i].place;
		CHECK(memcmp(rows[i].rest, &rows[i].key, sizeof rows[i].key) == 0);
		CHECK(i == 0 || rows[i - 1].key <= rows[i].key);
		if (i && stable && rows[i - 1].key == rows[i].key)
			CHECK(rows[i - 1].place < rows[i].place);
	}
	EQUAL(places, n ? n * (n - 1) / 2 : 0);
}

static void *no_memory(size_t size)
{
	return NULL;
}

TEST(sort_keeps_the_order_of_equals_and_works_without_memory)
{
	static struct row rows[MOST];
	struct log_memory usual = log_memory;
	for (size_t n = 0; n <= MOST; n = n < 20 ? n + 1 : n * 3 / 2) {
		fill(rows, n, 50, n);
		log_sort(rows, n, sizeof *rows, by_key);
		check_sorted(rows, n, true);
		fill(rows, n, 1000000, n);
		log_memory.alloc = no_memory;
		log_sort(rows, n, sizeof *rows, by_key);
		log_memory = usual;
		check_sorted(rows, n, false);
	}
}

static int taken;

static void *count_and_get(size_t size)
{
	taken++;
	return malloc(size);
}

static void *count_and_get_zeroed(size_t n, size_t size)
{
	taken++;
	return calloc(n, size);
}

static void count_and_put(void *block)
{
	taken -= block != NULL;
	free(block);
}

/* Inside a program's handler, malloc may be what was interrupted. */
TEST(an_index_takes_its_memory_where_the_log_library_does)
{
	struct log_memory usual = log_memory;
	struct index x = {0};
	uint64_t *array = NULL;
	bool is_new;
	log_memory = (struct log_memory){count_and_get, count_and_get_zeroed, count_and_put};
	for (uint64_t i = 0; i < 1000; i++) {
		EQUAL(index_number(&x, i * i, &is_new), i);
		CHECK(index_grow(&array, i, sizeof *array));
		array[i] = i;
	}
	EQUAL(taken, 2);
	for (uint64_t i = 0; i < 1000; i++)
		EQUAL(array[i], i);
	index_free(&x);
	log_free(array);
	EQUAL(taken, 0);
	log_memory = usual;
}
