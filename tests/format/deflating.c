/* What is deflated, zlib itself gives back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "error.h"
#include "make.h"
#include "deflater.h"
#include "unit.h"

/* Squeezes `n` records of up to `most` bytes, made by fill, and compares; returns the stored bytes. */
static size_t deflates(size_t n, size_t most, bool varies, void (*fill)(uint8_t *at, size_t size, size_t number))
{
	struct deflater *s = deflater_make();
	uint8_t *raw = calloc(n, most), *back = malloc(n * most);
	size_t used = 0;
	for (size_t k = 0; k < n; k++) {
		size_t size = varies ? 1 + rand() % most : most;
		fill(raw + used, size, k);
		EQUAL(deflater_add(s, raw + used, size), LOG_OK);
		used += size;
	}
	EQUAL(deflater_end(s), LOG_OK);
	uLongf got = n * most;
	EQUAL(uncompress(back, &got, s->out.at, s->out.used), Z_OK);
	EQUAL(got, used);
	CHECK(!memcmp(raw, back, used));
	size_t stored = s->out.used;
	deflater_free(s);
	free(raw);
	free(back);
	return stored;
}

static void nothing(uint8_t *at, size_t size, size_t number)
{
	(void)at, (void)size, (void)number;
}

static void noise(uint8_t *at, size_t size, size_t number)
{
	(void)number;
	for (size_t k = 0; k < size; k++)
		at[k] = (uint8_t)rand();
}

/* Numbers of which some are as in the record before, some as elsewhere, most of them small. */
static void counters(uint8_t *at, size_t size, size_t number)
{
	for (size_t k = 0; k + 8 <= size; k += 8) {
		uint64_t value = rand() % 4 ? 0 : rand() % 3 ? (uint64_t)rand() % 5 << 8 * (rand() % 7) : number;
		memcpy(at + k, &value, 8);
	}
}

static void names(uint8_t *at, size_t size, size_t number)
{
	for (size_t k = 0; k < size; k++)
		at[k] = (uint8_t)(k < 8 ? (size_t)rand() : 'a' + (k * k + (k > size / 2 ? number : 0)) % 20);
}

static void (*const fills[])(uint8_t *, size_t, size_t) = {nothing, noise, counters, names};

TEST(zlib_gives_back_what_was_deflated)
{
	static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 24, 704, 4097, 16384, 16385, 40000, 81920};
	for (size_t f = 0; f < sizeof fills / sizeof *fills; f++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int varies = 0; varies < 2; varies++)
				deflates(1 + 300000 / sizes[k] % 3000, sizes[k], varies, fills[f]);
}

TEST(records_that_hardly_differ_take_hardly_any_room)
{
	CHECK(deflates(1000, 704, false, nothing) < 3000);
	CHECK(deflates(100, 704, false, noise) < 100 * 704 * 101 / 100 + 100);
}

/* Between two numbers that differ are 560 bytes that do not; there are zeros where the second piece of a match begins. */
static void constants(uint8_t *at, size_t size, size_t number)
{
	for (size_t k = 8; k < size; k++)
		at[k] = (uint8_t)(k < 250 || k > 350 ? k * k % 251 + 1 : 0);
	noise(at, 8, number);
	noise(at + 568, 8, number);
}

static void id_and_name(uint8_t *at, size_t size, size_t number)
{
	noise(at, 8, number);
	snprintf((char *)at + 8, size - 8, "/scratch/project/run/part.%05zu", number);
}

TEST(what_is_left_of_a_long_match_goes_where_zeros_are)
{
	CHECK(deflates(1000, 704, false, constants) < 24200);
}

TEST(of_an_id_and_a_name_the_id_takes_no_match_from_the_name)
{
	CHECK(deflates(1000, 41, false, id_and_name) < 11900);
}

/* A time of its own, and behind it the durations of one of 50 earlier records. */
static void times(uint8_t *at, size_t size, size_t number)
{
	uint64_t like = (uint64_t)rand() % 50 + 1;
	memset(at, 0, size);
	noise(at, 8, number);
	for (size_t k = 0; k < 6; k++) {
		uint64_t value = k ? UINT64_C(0x3ed0000000000000) + (like * (k * 7 + 3) % 61 << 44)
				   : UINT64_C(0x3f8b000000000000) + ((uint64_t)number * 13 << 36);
		memcpy(at + 584 + 16 * k, &value, 8);
	}
}

TEST(durations_of_an_earlier_record_are_found_there)
{
	CHECK(deflates(1000, 704, false, times) < 25500);
}

TEST(a_deflater_begins_again_after_its_end)
{
	struct deflater *s = deflater_make();
	uint8_t record[704] = {1, 2, 3}, back[2 * sizeof record];
	for (int stream = 0; stream < 2; stream++) {
		EQUAL(deflater_add(s, record, sizeof record), LOG_OK);
		EQUAL(deflater_end(s), LOG_OK);
	}
	EQUAL(deflater_end(s), LOG_OK); /* nothing added: no stream */
	size_t first = s->out.used / 2;
	for (int stream = 0; stream < 2; stream++) {
		uLongf got = sizeof record;
		EQUAL(uncompress(back, &got, s->out.at + (size_t)stream * first, first), Z_OK);
		CHECK(!memcmp(back, record, sizeof record));
	}
	deflater_free(s);
}
