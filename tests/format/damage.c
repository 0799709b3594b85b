#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "make.h"
#include "unit.h"
#include "walk.h"

enum { RECORDS = 5 + 1 + 3, ROWS = 3 };

/* A buffer of exactly this size, so that a sanitizer sees every byte read too far. */
static struct walked walk_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	memcpy(copy, data, size);
	struct walked w = walk_log(copy, size);
	free(copy);
	return w;
}

TEST(an_undamaged_log_is_read_completely)
{
	size_t size;
	uint8_t *data = make_log(&size);
	struct walked w = walk_copy(data, size);
	EQUAL(w.opened, 1);
	EQUAL(w.errors, 0);
	EQUAL(w.records, RECORDS);
	EQUAL(w.rows, ROWS);
	free(data);
}

TEST(a_log_cut_at_any_byte_gives_what_is_left)
{
	size_t size;
	uint8_t *data = make_log(&size);
	uint64_t before = 0;
	for (size_t n = 0; n < size; n++) {
		struct walked w = walk_copy(data, n);
		EQUAL(w.opened, n >= 1328);
		CHECK(w.records >= before);
		CHECK(w.rows == 0);
		before = w.records;
	}
	EQUAL(before, RECORDS);
	free(data);
}

TEST(flipped_bits_never_break_the_reader)
{
	size_t size;
	uint8_t *data = make_log(&size);
	uint8_t *copy = malloc(size);
	uint64_t seed = 2026;
	for (int i = 0; i < 6000; i++) {
		memcpy(copy, data, size);
		for (int flips = 0; flips <= i % 3; flips++)
			copy[unit_random(&seed) % size] ^= (uint8_t)(1 << unit_random(&seed) % 8);
		walk_log(copy, size);
	}
	free(copy);
	free(data);
}

/* Without compression every bit of a record arrives as it is. */
TEST(flipped_bits_in_uncompressed_logs_never_break_the_reader)
{
	uint64_t seed = 7, words[64] = {9, 0, 0, 4};
	struct posix_record p;
	make_posix(&p, &seed, 5, 2);
	for (int swapped = 0; swapped < 2; swapped++) {
		struct other_log o = {.minor = 41, .swapped = swapped, .compression = LOG_PLAIN, .regions = 2};
		o.region[0] = (struct other_region){1, 4, &p, sizeof p};
		o.region[1] = (struct other_region){15, 1, words, sizeof words};
		size_t size;
		uint8_t *data = make_other_log(&o, &size);
		for (int i = 0; i < 6000; i++) {
			size_t at = unit_random(&seed) % (i % 2 ? size : 1328);
			uint8_t old = data[at];
			data[at] = (uint8_t)unit_random(&seed);
			walk_log(data, size);
			data[at] = old;
		}
		free(data);
	}
}

TEST(random_bytes_behind_a_header_never_break_the_reader)
{
	size_t size;
	uint8_t *data = make_log(&size);
	uint64_t seed = 11;
	for (int i = 0; i < 300; i++) {
		for (size_t at = 32; at < size; at++)
			data[at] = (uint8_t)unit_random(&seed);
		data[16] = (uint8_t)(i % 3);
		walk_log(data, size);
	}
	free(data);
}

static long allowed;

static void *scarce_get(size_t size)
{
	return allowed-- > 0 ? malloc(size) : NULL;
}

TEST(running_out_of_memory_is_an_error_like_any_other)
{
	size_t size;
	uint8_t *data = make_log(&size);
	struct walked w = {0};
	log_memory.alloc = scarce_get;
	for (long n = 0; n < 200; n++) {
		allowed = n;
		w = walk_log(data, size);
		CHECK(w.opened || n < 1);
	}
	EQUAL(w.errors, 0);
	EQUAL(w.records, RECORDS);
	log_memory.alloc = malloc;
	free(data);
}

static int write_scarcely(void)
{
	struct log_writer *w;
	struct log_job_text job = make_job(1);
	struct posix_record p = {.id = 1};
	struct trailer_section s;
	int code = log_writer_memory(&w, NULL);
	if (code < 0)
		return code;
	log_write_job(w, &job);
	log_write_name(w, 1, "one");
	log_write_module(w, LOG_MOD_POSIX, 4);
	log_write_record(w, &p, sizeof p);
	section_begin(&s, "x", "pid i64\nhost str\n");
	section_row(&s);
	section_set_text(&s, "host", 0, "node");
	log_write_section(w, &s);
	section_free(&s);
	code = log_writer_finish(w, NULL);
	log_writer_free(w);
	return code;
}

TEST(a_writer_without_memory_fails_cleanly)
{
	int code = -1, failed = 0;
	log_memory.alloc = scarce_get;
	for (long n = 0; n < 60; n++) {
		allowed = n;
		code = write_scarcely();
		CHECK(code == 0 || code == LOG_E_MEMORY);
		failed += code < 0;
	}
	log_memory.alloc = malloc;
	EQUAL(code, 0);
	CHECK(failed > 5);
}
