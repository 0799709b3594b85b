#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "string_table.h"
#include "text_code.h"
#include "unit.h"

enum { WIDTH = 6, KINDS = 9 };

static uint64_t seed = 2026;

static uint64_t bits_of(double real)
{
	uint64_t bits;
	memcpy(&bits, &real, sizeof bits);
	return bits;
}

static uint64_t number(int kind, uint64_t row, uint64_t left, unsigned shift)
{
	uint64_t random = unit_random(&seed);
	const uint64_t by_op[KINDS] = {
		[0] = 0,
		[1] = 7,
		[2] = row / 3,
		[3] = random >> shift,
		[4] = (random >> shift) - (random >> shift) / 2 * (random % 3),
		[5] = random,
		[6] = left + random % 3,
		[7] = random % 20 ? 4 : random,
		[8] = UINT64_C(0) - row,
	};
	return by_op[kind];
}

/* Columns of all kinds, whole and real, at random. */
static void fill(uint64_t *rows, uint64_t n, uint32_t width, bool *real)
{
	for (uint32_t w = 0; w < width; w++) {
		int kind = (int)(unit_random(&seed) % KINDS);
		unsigned shift = (unsigned)(unit_random(&seed) % 64);
		real[w] = unit_random(&seed) % 2;
		for (uint64_t i = 0; i < n; i++) {
			uint64_t value = number(kind, i, w ? rows[i * width + w - 1] : i, shift);
			bool noise = real[w] && kind == 5;
			if (real[w] && !noise)
				value = bits_of((double)(int64_t)value * (kind == 3 ? 0x1p-40 : 0x1p-20));
			rows[i * width + w] = value;
		}
	}
}

static void back_and_forth(uint64_t n, uint32_t width)
{
	bool real[WIDTH];
	uint64_t *rows = malloc(n * width * sizeof *rows + 1), *back = malloc(n * width * sizeof *back + 1);
	struct log_bytes out = {0};
	fill(rows, n, width, real);
	EQUAL(columns_write(&out, rows, n, width, real), LOG_OK);
	EQUAL(columns_read(out.at, out.used, back, n, width, real), LOG_OK);
	CHECK(!memcmp(rows, back, n * width * sizeof *rows));
	if (n) {
		struct log_bytes row = {0};
		EQUAL(columns_write_row(&row, rows, width, real), LOG_OK);
		EQUAL(columns_read_row(row.at, row.used, back, width, real), LOG_OK);
		CHECK(!memcmp(rows, back, width * sizeof *rows));
		EQUAL(columns_read_row(row.at, row.used / 2, back, width, real), LOG_E_DAMAGED);
		log_bytes_free(&row);
	}
	for (int damage = 0; damage < 4; damage++) {
		size_t size = (size_t)(unit_random(&seed) % (out.used + 1));
		uint8_t *copy = malloc(size + 1); /* so that a sanitizer sees a byte too far */
		memcpy(copy, out.at, size);
		if (size)
			copy[unit_random(&seed) % size] ^= (uint8_t)(1 << unit_random(&seed) % 8);
		columns_read(copy, size, back, n, width, real);
		free(copy);
	}
	log_bytes_free(&out);
	free(rows);
	free(back);
}

TEST(columns_come_back_as_they_were_and_damaged_ones_break_nothing)
{
	for (int i = 0; i < 3000; i++)
		back_and_forth(1 + unit_random(&seed) % (i % 50 ? 40 : 900),
			       1 + (uint32_t)(unit_random(&seed) % WIDTH));
}

static size_t stored(uint64_t n, bool real, uint64_t (*of)(uint64_t row))
{
	uint64_t *rows = malloc(n * sizeof *rows), *back = malloc(n * sizeof *back);
	struct log_bytes out = {0};
	for (uint64_t i = 0; i < n; i++)
		rows[i] = of(i);
	EQUAL(columns_write(&out, rows, n, 1, &real), LOG_OK);
	EQUAL(columns_read(out.at, out.used, back, n, 1, &real), LOG_OK);
	CHECK(!memcmp(rows, back, n * sizeof *rows));
	size_t size = out.used;
	log_bytes_free(&out);
	free(rows);
	free(back);
	return size;
}

static uint64_t same(uint64_t row)
{
	(void)row;
	return 4194304;
}

static uint64_t rank(uint64_t row)
{
	return row;
}

static uint64_t rare(uint64_t row)
{
	return row == 4711 || row == 77777;
}

static uint64_t small(uint64_t row)
{
	(void)row;
	return 1000 + unit_random(&seed) % 64;
}

static uint64_t microseconds(uint64_t row)
{
	return bits_of((double)(row * 300 + unit_random(&seed) % 128) * 0x1p-20);
}

static uint64_t odd_real(uint64_t row)
{
	static const double odd[] = {-0.0, 1e300, 5e-324, -1e-300, 0.1, 0x1p53, -0x1p60};
	return row % 8 == 7 ? UINT64_C(0x7ff8000000000001) : bits_of(odd[row % 8]);
}

TEST(columns_take_the_room_of_what_they_tell)
{
	CHECK(stored(100000, false, same) <= 8);
	CHECK(stored(100000, false, rank) <= 8);
	CHECK(stored(100000, false, rare) <= 16);
	CHECK(stored(100000, false, small) <= 100000 * 6 / 8 + 8);
	CHECK(stored(100000, true, microseconds) <= 100000 * 10 / 8 + 8);
	CHECK(stored(1000, true, odd_real) <= 1000 * 9);
}

/* Rows of two kinds, in turn, of each rank. */
TEST(groups_of_rows_are_columns_of_their_own)
{
	enum { RANKS = 1000 };
	static uint64_t rows[2 * RANKS * 3], back[2 * RANKS * 3];
	static const bool real[3];
	struct log_bytes out = {0};
	for (uint64_t i = 0; i < 2 * RANKS; i++) {
		rows[3 * i] = i / 2;
		rows[3 * i + 1] = i % 2;
		rows[3 * i + 2] = (i % 2 ? 5000000 : 20) + unit_random(&seed) % 4;
	}
	EQUAL(columns_write(&out, rows, 2 * RANKS, 3, real), LOG_OK);
	CHECK(out.used <= 2 * RANKS * 2 / 8 + 32);
	EQUAL(columns_read(out.at, out.used, back, 2 * RANKS, 3, real), LOG_OK);
	CHECK(!memcmp(rows, back, sizeof rows));
	log_bytes_free(&out);
}

TEST(texts_come_back_and_known_words_take_a_byte_or_two)
{
	static const char *const wanted[] = {"rank i64", "pid i64",       "parent i64", "posix",        "",
					     "/opt/a/b", "/opt/a/bin x",  "/opt/a",     "/opt/a",       "a",
					     "no_room",  "a\nword\nlist", "process",    "rank i64 byte"};
	enum { TEXTS = sizeof wanted / sizeof *wanted };
	struct word text[TEXTS];
	struct string_place place[TEXTS];
	struct log_bytes out = {0}, back = {0};
	for (size_t i = 0; i < TEXTS; i++)
		text[i] = (struct word){wanted[i], strlen(wanted[i])};
	EQUAL(string_table_write(&out, text, 4), LOG_OK);
	CHECK(out.used <= 4);
	out.used = 0;
	EQUAL(string_table_write(&out, text, TEXTS), LOG_OK);
	struct cut from = {out.at, out.at + out.used};
	EQUAL(string_table_read(&from, TEXTS, &back, place, 1000), LOG_OK);
	CHECK(from.at == from.end);
	for (size_t i = 0; i < TEXTS; i++) {
		EQUAL(place[i].length, strlen(wanted[i]));
		CHECK(!memcmp(back.at + place[i].at, wanted[i], place[i].length));
	}
	for (size_t n = 0; n < out.used; n++) {
		from = (struct cut){out.at, out.at + n};
		back.used = 0;
		EQUAL(string_table_read(&from, TEXTS, &back, NULL, 1000), LOG_E_DAMAGED);
	}
	from = (struct cut){out.at, out.at + out.used};
	back.used = 0;
	EQUAL(string_table_read(&from, TEXTS, &back, NULL, 20), LOG_E_DAMAGED);
	log_bytes_free(&out);
	log_bytes_free(&back);
}

enum { MANY_TEXTS = 40, LONG_TEXT = 300 };

/* Paths that begin alike, digits, words, and any bytes. */
static size_t any_text(char *to, size_t room)
{
	unsigned kind = (unsigned)(unit_random(&seed) % 5);
	size_t n = (size_t)(unit_random(&seed) % room);
	if (kind == 0)
		return (size_t)snprintf(to, room, "/scratch/project/run%d/out.h5", (int)(unit_random(&seed) % 50));
	if (kind == 1)
		return (size_t)snprintf(to, room, "%s", unit_random(&seed) % 2 ? "posix" : "ended str");
	for (size_t k = 0; k < n; k++)
		to[k] = kind == 2 ? (char)unit_random(&seed)
				  : "abc0123456789abcdef"[kind == 3 ? k % 3 : 3 + k * k % 16];
	return n;
}

TEST(texts_in_bits_come_back_and_damaged_ones_break_nothing)
{
	for (int round = 0; round < 300; round++) {
		static char room[MANY_TEXTS][LONG_TEXT];
		struct word text[MANY_TEXTS];
		struct string_place place[MANY_TEXTS];
		struct log_bytes out = {0}, back = {0};
		size_t n = (size_t)(unit_random(&seed) % MANY_TEXTS), all = 0;
		for (size_t i = 0; i < n; i++) {
			text[i] = (struct word){room[i], any_text(room[i], LONG_TEXT)};
			all += text[i].length;
		}
		EQUAL(text_code_write(&out, text, n), LOG_OK);
		struct cut from = {out.at, out.at + out.used};
		EQUAL(text_code_read(&from, n, &back, place, all), LOG_OK);
		CHECK(from.at == from.end);
		EQUAL(back.used, all);
		for (size_t i = 0; i < n; i++) {
			EQUAL(place[i].length, text[i].length);
			CHECK(!memcmp(back.at + place[i].at, text[i].at, text[i].length));
		}
		from = (struct cut){out.at, out.at + out.used};
		if (all)
			EQUAL(text_code_read(&from, n, &back, place, all - 1), LOG_E_DAMAGED);
		out.at[unit_random(&seed) % out.used] ^= (uint8_t)(1 << unit_random(&seed) % 8);
		from = (struct cut){out.at, out.at + out.used};
		text_code_read(&from, n, &back, place, 2 * all);
		log_bytes_free(&out);
		log_bytes_free(&back);
	}
}

TEST(usual_texts_take_few_bits)
{
	static const char *const usual[] = {"/usr/bin/python3 train.py", "/usr/bin/python3", "posix",
					    "0ddbb3456120b237f3560b4dd3d79d6f5f6be259",
					    "AMD EPYC 7763 64-Core Processor"};
	enum { TEXTS = sizeof usual / sizeof *usual };
	struct word text[TEXTS];
	struct log_bytes out = {0};
	for (size_t i = 0; i < TEXTS; i++)
		text[i] = (struct word){usual[i], strlen(usual[i])};
	EQUAL(text_code_write(&out, text, TEXTS), LOG_OK);
	CHECK(out.used < 61); /* of 117 */
	log_bytes_free(&out);
}
