#include "trailer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compact.h"
#include "crc32c.h"
#include "hash.h"
#include "make.h"
#include "unit.h"

struct opened {
	uint8_t *data;
	size_t size;
	struct log *log;
	struct trailer *trailer;
	struct log_error err;
	int code;
};

static void reopen(struct opened *o)
{
	log_open_memory(&o->log, o->data, o->size, NULL);
	o->code = trailer_open(&o->trailer, o->log, &o->err);
}

static struct opened open_log(void)
{
	struct opened o = {0};
	o.data = make_log(&o.size);
	reopen(&o);
	return o;
}

static void close_log(struct opened *o)
{
	trailer_close(o->trailer);
	log_close(o->log);
	o->trailer = NULL;
}

static void check_text(const struct trailer_table *t, uint64_t row, const char *field, uint32_t at, const char *wanted)
{
	size_t n;
	const char *text = trailer_text(t, row, trailer_field(t, field), at, &n);
	EQUAL(n, strlen(wanted));
	CHECK(!memcmp(text, wanted, n));
}

TEST(sections_come_back_as_they_were_written)
{
	struct opened o = open_log();
	struct trailer_table *t;
	EQUAL(o.code, 0);
	EQUAL(trailer_count(o.trailer), 1);
	EQUAL(trailer_find(o.trailer, "process", &t, NULL), 0);
	EQUAL(trailer_rows(t), 3);
	EQUAL(trailer_fields(t), 7);
	TEXT(trailer_field_at(t, 2)->unit, "s");
	TEXT(trailer_field_at(t, 4)->unit, "calls");
	for (uint64_t i = 0; i < 3; i++) {
		EQUAL(trailer_i64(t, i, trailer_field(t, "pid"), 0), 100 + i);
		EQUAL(trailer_i64(t, i, trailer_field(t, "id"), 0), -1 - (int64_t)i);
		NEAR(trailer_f64(t, i, trailer_field(t, "start"), 0), 0.5 * (double)i);
		EQUAL(trailer_i64(t, i, trailer_field(t, "calls"), 2), 10 * i + 2);
		check_text(t, i, "tag", 0, "exactly16letters");
		check_text(t, i, "args", 0, "");
		check_text(t, i, "args", 1, "second");
	}
	check_text(t, 2, "host", 0, "node002");
	trailer_free(t);
	close_log(&o);
	free(o.data);
}

/* Numbers that nothing makes smaller: the section takes several pieces of its check sum. */
TEST(a_long_section_comes_back)
{
	enum { ROWS = 2000 };
	struct log_writer *w;
	struct log_job_text job = make_job(4);
	struct trailer_section s;
	struct opened o = {0};
	struct trailer_table *t;
	EQUAL(log_writer_memory(&w, NULL), 0);
	log_write_job(w, &job);
	EQUAL(section_begin(&s, "x", "number u64\n"), 0);
	for (uint64_t i = 0; i < ROWS; i++) {
		section_row(&s);
		section_set_i64(&s, "number", 0, (int64_t)(i * i * i * 0x9E3779B97F4A7C15u));
	}
	log_write_section(w, &s);
	section_free(&s);
	EQUAL(log_writer_finish(w, NULL), 0);
	o.data = (uint8_t *)log_writer_data(w, &o.size);
	reopen(&o);
	CHECK(trailer_at(o.trailer, 0)->stored > 3 * 4096);
	EQUAL(trailer_find(o.trailer, "x", &t, &o.err), 0);
	TEXT(o.err.message, "");
	EQUAL(trailer_rows(t), ROWS);
	for (uint64_t i = 0; i < ROWS; i++)
		EQUAL(trailer_i64(t, i, trailer_field(t, "number"), 0), (int64_t)(i * i * i * 0x9E3779B97F4A7C15u));
	trailer_free(t);
	close_log(&o);
	log_writer_free(w);
}

TEST(what_a_section_does_not_have_reads_as_nothing)
{
	struct opened o = open_log();
	struct trailer_table *t;
	trailer_find(o.trailer, "process", &t, NULL);
	CHECK(!trailer_field(t, "nothing"));
	EQUAL(trailer_i64(t, 0, trailer_field(t, "nothing"), 0), 0);
	EQUAL(trailer_i64(t, 3, trailer_field(t, "pid"), 0), 0);
	EQUAL(trailer_i64(t, 0, trailer_field(t, "pid"), 1), 0);
	EQUAL(trailer_i64(t, 0, trailer_field(t, "host"), 0), 0);
	check_text(t, 0, "pid", 0, "");
	check_text(t, 7, "host", 0, "");
	trailer_free(t);
	EQUAL(trailer_find(o.trailer, "nothing", &t, NULL), 0);
	CHECK(!t);
	EQUAL(trailer_rows(t), 0);
	EQUAL(trailer_find(NULL, "process", &t, NULL), 0);
	close_log(&o);
	free(o.data);
}

TEST(numbers_convert_between_the_number_types)
{
	struct opened o = open_log();
	struct trailer_table *t;
	trailer_find(o.trailer, "process", &t, NULL);
	NEAR(trailer_f64(t, 1, trailer_field(t, "pid"), 0), 101);
	NEAR(trailer_f64(t, 0, trailer_field(t, "id"), 0), 18446744073709551615.0);
	EQUAL(trailer_i64(t, 2, trailer_field(t, "start"), 0), 1);
	trailer_free(t);
	close_log(&o);
	free(o.data);
}

TEST(a_log_without_trailer_has_none)
{
	struct other_log plain = {.minor = 41, .compression = LOG_ZLIB};
	struct opened o = {0};
	o.data = make_other_log(&plain, &o.size);
	reopen(&o);
	EQUAL(o.code, 0);
	CHECK(!o.trailer);
	EQUAL(trailer_count(o.trailer), 0);
	close_log(&o);
	free(o.data);
}

/* From the first section on; ends the log. */
static void flip_every_byte(struct opened o, const char *table)
{
	uint64_t start = trailer_at(o.trailer, 0)->offset;
	close_log(&o);
	for (size_t at = start; at < o.size; at++) {
		struct trailer_table *t = NULL;
		o.data[at] ^= 0x10;
		reopen(&o);
		int code = o.code < 0 ? o.code : trailer_find(o.trailer, table, &t, NULL);
		CHECK(code < 0 || !t);
		trailer_free(t);
		close_log(&o);
		o.data[at] ^= 0x10;
	}
	free(o.data);
}

TEST(a_flipped_bit_anywhere_in_the_trailer_is_noticed)
{
	flip_every_byte(open_log(), "process");
}

TEST(a_trailer_of_a_later_version_is_unsupported)
{
	struct opened o = open_log();
	close_log(&o);
	o.data[o.size - 1] = COMPACT_NEWEST + 1;
	reopen(&o);
	EQUAL(o.code, LOG_E_UNSUPPORTED);
	close_log(&o);
	free(o.data);
}

/* A log of nothing but tables; `parts` tells how many rows each part has, and the last ones are a section. */
static struct opened log_in_parts(const int *parts, int n, const char *schema)
{
	struct opened o = {0};
	struct log_writer *w;
	struct log_job_text job = make_job(4);
	EQUAL(log_writer_memory(&w, NULL), 0);
	log_write_job(w, &job);
	for (int k = 0, row = 0; k < n; row += parts[k++]) {
		struct trailer_section s;
		struct log_bytes stored = {0};
		struct compact_part part;
		EQUAL(section_begin(&s, "x", k == 1 ? schema : "rank i64\nhost str\n"), 0);
		for (int i = row; i < row + parts[k]; i++) {
			char host[16];
			snprintf(host, sizeof host, "node%d", i / 3);
			section_row(&s);
			section_set_i64(&s, "rank", 0, i);
			section_set_text(&s, "host", 0, host);
		}
		if (k < n - 1) {
			EQUAL(compact_write_part(&stored, &s, &part), 0);
			log_write_part(w, "x", &part, stored.at);
		} else {
			log_write_section(w, &s);
		}
		log_bytes_free(&stored);
		section_free(&s);
	}
	EQUAL(log_writer_finish(w, NULL), 0);
	const void *data = log_writer_data(w, &o.size);
	o.data = malloc(o.size);
	memcpy(o.data, data, o.size);
	log_writer_free(w);
	reopen(&o);
	return o;
}

TEST(parts_of_a_table_are_one_table)
{
	struct opened o = log_in_parts((int[]){4, 1, 500, 7}, 4, "rank i64\nhost str\n");
	struct trailer_table *t;
	char host[16];
	EQUAL(o.code, 0);
	EQUAL(o.data[o.size - 1], COMPACT_NEWEST);
	EQUAL(trailer_count(o.trailer), 1);
	EQUAL(trailer_at(o.trailer, 0)->rows, 512);
	EQUAL(trailer_find(o.trailer, "x", &t, &o.err), 0);
	TEXT(o.err.message, "");
	EQUAL(trailer_rows(t), 512);
	for (uint64_t i = 0; i < 512; i++) {
		snprintf(host, sizeof host, "node%d", (int)i / 3);
		EQUAL(trailer_i64(t, i, trailer_field(t, "rank"), 0), i);
		check_text(t, i, "host", 0, host);
	}
	trailer_free(t);
	close_log(&o);
	free(o.data);
}

TEST(parts_with_other_fields_are_damage)
{
	static const char *const others[] = {"rank i64\nhost str\nmore i64\n", "host str\nrank i64\n",
					     "rank u64\nhost str\n", "rank i64\nhost str[2]\n"};
	for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
		struct opened o = log_in_parts((int[]){4, 2, 3}, 3, others[k]);
		struct trailer_table *t;
		EQUAL(trailer_find(o.trailer, "x", &t, &o.err), LOG_E_DAMAGED);
		CHECK(strstr(o.err.message, "parts that do not belong together"));
		close_log(&o);
		free(o.data);
	}
}

TEST(a_flipped_bit_in_any_part_is_noticed)
{
	flip_every_byte(log_in_parts((int[]){4, 1, 3}, 3, "rank i64\nhost str\n"), "x");
}

/* Each part is small enough for what a section may ask for; all of them are not. */
TEST(parts_together_ask_for_memory_in_proportion_to_their_size)
{
	enum { ROWS = 1 << 20, PARTS = 8 };
	struct opened o = {0};
	struct log_writer *w;
	struct log_job_text job = make_job(4);
	struct trailer_section s;
	struct log_bytes small = {0}, large = {0};
	struct deflater *deflater = NULL;
	struct compact_part part;
	struct trailer_table *t;
	EQUAL(section_begin(&s, "x", "pid i64\n"), 0);
	for (int i = 0; i < ROWS; i++)
		section_row(&s);
	EQUAL(compact_write(&small, &s, &deflater), 0);
	EQUAL(compact_write_part(&large, &s, &part), 0);
	CHECK(small.used < 64 && part.stored >= 8 * ROWS / 1024 && part.stored == large.used);
	part.stored = small.used;
	part.crc = log_crc32c(0, small.at, small.used);
	EQUAL(log_writer_memory(&w, NULL), 0);
	log_write_job(w, &job);
	for (int k = 0; k < PARTS; k++)
		log_write_part(w, "x", &part, small.at);
	EQUAL(log_writer_finish(w, NULL), 0);
	o.data = (uint8_t *)log_writer_data(w, &o.size);
	reopen(&o);
	EQUAL(o.code, 0);
	EQUAL(trailer_find(o.trailer, "x", &t, NULL), LOG_E_DAMAGED);
	close_log(&o);
	log_writer_free(w);
	log_bytes_free(&small);
	log_bytes_free(&large);
	section_free(&s);
	deflater_free(deflater);
}

/* Rows that are all equal take no room in a log, but memory: a small log cannot ask for much of it. */
TEST(a_section_asks_for_memory_in_proportion_to_its_size)
{
	enum { ROWS = 3 << 20 };
	struct trailer_section s;
	struct log_bytes out = {0};
	struct deflater *deflater = NULL;
	struct compact_table t = {0};
	EQUAL(section_begin(&s, "x", "pid i64\n"), 0);
	for (int i = 0; i < ROWS; i++)
		section_row(&s);
	EQUAL(compact_write(&out, &s, &deflater), 0);
	CHECK(out.used >= 8 * ROWS / 1024 && out.used < 8 * ROWS / 1024 + 512);
	EQUAL(compact_read(&t, out.at, 8 * ROWS / 1024 - 1, ROWS, 8 * ROWS), LOG_E_DAMAGED);
	EQUAL(compact_read(&t, out.at, out.used, ROWS, 8 * ROWS), 0);
	EQUAL(t.bytes.used, 8 * ROWS);
	log_bytes_free(&t.bytes);
	log_free(t.fields);
	log_bytes_free(&out);
	section_free(&s);
	deflater_free(deflater);
}

static void many_texts(struct trailer_section *s, int rows)
{
	char text[64];
	EQUAL(section_begin(s, "x", "command str\nrank i64\n"), 0);
	for (int i = 0; i < rows; i++) {
		snprintf(text, sizeof text, "/usr/lib/gcc/cc1 -quiet source-%d.c -o object-%d.o", i % 50, i % 50);
		section_row(s);
		section_set_text(s, "command", 0, text);
		section_set_i64(s, "rank", 0, i);
	}
}

TEST(a_text_is_stored_once)
{
	struct deflater *deflater = NULL;
	size_t size[2];
	for (int times = 0; times < 2; times++) {
		struct trailer_section s;
		struct compact_table t = {0};
		struct log_bytes out = {0};
		many_texts(&s, times ? 500 : 50);
		EQUAL(compact_write(&out, &s, &deflater), 0);
		EQUAL(compact_read(&t, out.at, out.used, s.nrows, s.rows.used + s.heap.used), 0);
		CHECK(t.bytes.used <= s.rows.used + s.heap.used);
		size[times] = out.used;
		log_bytes_free(&out);
		log_bytes_free(&t.bytes);
		log_free(t.fields);
		section_free(&s);
	}
	CHECK(size[0] < 50 * 20);
	CHECK(size[1] < size[0] + 500 * 6 / 8 + 16);
	deflater_free(deflater);
}

/* Of 48 bytes: whatever the first 24 are, the others lead to the same hash. */
static void mix(uint64_t s[3])
{
	static const uint8_t shift[4][3] = {{43, 9, 8}, {38, 23, 5}, {35, 49, 11}, {12, 18, 22}};
	for (int i = 0; i < 4; i++) {
		s[0] = (s[0] - s[1] - s[2]) ^ (s[2] >> shift[i][0]);
		s[1] = (s[1] - s[2] - s[0]) ^ (s[0] << shift[i][1]);
		s[2] = (s[2] - s[0] - s[1]) ^ (s[1] >> shift[i][2]);
	}
}

static void state_after(const char *first, uint64_t s[3])
{
	uint64_t words[3];
	memcpy(words, first, sizeof words);
	s[0] = words[0];
	s[1] = words[1];
	s[2] = 0x9e3779b97f4a7c13 + words[2];
	mix(s);
}

static void make_collision(const char *text, char *other)
{
	uint64_t from[3], to[3], rest[3];
	state_after(text, from);
	for (int k = 0; k == 0 || strlen(other) != 48; k++) {
		char first[25];
		snprintf(first, sizeof first, "other-%018d", k);
		memcpy(other, first, 24);
		memcpy(rest, text + 24, sizeof rest);
		state_after(other, to);
		for (int i = 0; i < 3; i++)
			rest[i] += from[i] - to[i];
		memcpy(other + 24, rest, sizeof rest);
		other[48] = '\0';
	}
}

TEST(texts_of_one_hash_stay_apart)
{
	const char *text = "/scratch/project/run-0001/checkpoint-0000000042.";
	char other[49];
	struct deflater *deflater = NULL;
	struct trailer_section s;
	struct compact_table t = {0};
	struct log_bytes out = {0};
	make_collision(text, other);
	CHECK(log_hash(text, 48, 0) == log_hash(other, 48, 0) && strcmp(text, other) != 0);
	EQUAL(section_begin(&s, "x", "command str\n"), 0);
	for (int i = 0; i < 4; i++) {
		section_row(&s);
		section_set_text(&s, "command", 0, i % 2 ? other : text);
	}
	EQUAL(compact_write(&out, &s, &deflater), 0);
	EQUAL(compact_read(&t, out.at, out.used, s.nrows, s.rows.used + s.heap.used), 0);
	CHECK(memmem(t.bytes.at, t.bytes.used, text, 48) && memmem(t.bytes.at, t.bytes.used, other, 48));
	log_bytes_free(&out);
	log_bytes_free(&t.bytes);
	log_free(t.fields);
	section_free(&s);
	deflater_free(deflater);
}

TEST(wrong_schemas_are_refused)
{
	static const char *const wrong[] = {
		"",
		"pid",
		"pid \n",
		"pid i32\n",
		"pid i64",
		"pid i64[0]\n",
		"pid i64[\n",
		"pid i64[99999999]\n",
		"tag char[12]\n",
		" i64\n",
		"pid i64[2\n",
		"a-name-that-is-longer-than-any-field-may-be i64\n",
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct trailer_section s;
		EQUAL(section_begin(&s, "x", wrong[i]), LOG_E_USAGE);
		section_free(&s);
	}
}

TEST(setting_what_does_not_exist_makes_the_section_fail)
{
	struct trailer_section s;
	EQUAL(section_begin(&s, "x", "pid i64\nhost str\n"), 0);
	EQUAL(section_row(&s), 0);
	EQUAL(section_set_i64(&s, "pid", 0, 1), 0);
	EQUAL(section_set_i64(&s, "host", 0, 1), LOG_E_USAGE);
	EQUAL(section_set_i64(&s, "pid", 0, 1), LOG_E_USAGE);
	section_free(&s);
	EQUAL(section_begin(&s, "x", "pid i64\n"), 0);
	EQUAL(section_set_i64(&s, "pid", 0, 1), LOG_E_USAGE);
	section_free(&s);
	EQUAL(section_begin(&s, "a name that is longer than 31 bytes", "pid i64\n"), LOG_E_USAGE);
	section_free(&s);
}

TEST(whole_rows_can_be_added)
{
	struct {
		int64_t pid;
		double time[2];
	} row = {7, {1.5, 2.5}};
	struct trailer_section s;
	EQUAL(section_begin(&s, "x", "pid i64\ntime f64[2] s\n"), 0);
	EQUAL(s.row_size, sizeof row);
	EQUAL(section_add_row(&s, &row), 0);
	EQUAL(s.nrows, 1);
	CHECK(!memcmp(s.rows.at, &row, sizeof row));
	section_free(&s);
}

/* A store as the runtime lays it out: a log without compression, live sections behind it, the footer at the end. */
TEST(sections_grow_in_place)
{
	enum { AT = 8192, DIRECTORY = 12288, SIZE = 16384 };
	static const char schema[] = "pid i64\nhost char[64]\n";
	struct other_log plain = {.minor = 41, .compression = LOG_PLAIN};
	struct opened o = {.size = SIZE};
	size_t used;
	uint8_t *log = make_other_log(&plain, &used);
	o.data = calloc(1, SIZE);
	memcpy(o.data, log, used);
	free(log);
	struct trailer_entry *entry = (struct trailer_entry *)(o.data + DIRECTORY);
	EQUAL(section_in_place_size(schema, 80, 4, 0), 64 + 4 * 80);
	int64_t *rows = section_in_place(entry, o.data, AT, "process", schema, 80, 4, 0);
	footer_in_place((struct trailer_footer *)(o.data + SIZE) - 1, DIRECTORY, 1);
	for (uint64_t n = 0; n < 4; n++) {
		struct trailer_table *t;
		rows[10 * n] = 500 + (int64_t)n;
		strcpy((char *)(rows + 10 * n + 1), "node1");
		entry->rows = n + 1;
		reopen(&o);
		EQUAL(o.code, 0);
		EQUAL(trailer_find(o.trailer, "process", &t, NULL), 0);
		EQUAL(trailer_rows(t), n + 1);
		EQUAL(trailer_row_size(t), 80);
		EQUAL(trailer_i64(t, n, trailer_field(t, "pid"), 0), 500 + n);
		check_text(t, n, "host", 0, "node1");
		trailer_free(t);
		close_log(&o);
	}
	entry->rows = 5;
	reopen(&o);
	struct trailer_table *t;
	EQUAL(trailer_find(o.trailer, "process", &t, NULL), LOG_E_DAMAGED);
	close_log(&o);
	free(o.data);
}

TEST(sections_in_place_with_a_wrong_schema_are_refused)
{
	struct trailer_entry entry;
	uint8_t base[256];
	CHECK(!section_in_place(&entry, base, 0, "x", "pid i32\n", 0, 1, 0));
	CHECK(!section_in_place(&entry, base, 0, "x", "pid i64[4]\n", 16, 1, 0));
	EQUAL(section_in_place_size("pid i32\n", 0, 1, 0), 0);
}
