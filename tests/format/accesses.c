/* Records of accesses come back as they were written, small, and damaged ones are refused. */
#include "accesses.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum { MANY = 20000 };

static uint64_t seed = 14;

static uint64_t below(uint64_t limit)
{
	return unit_random(&seed) % limit;
}

/* Numbers of all sizes, of both signs. */
static int64_t any(void)
{
	return (int64_t)unit_random(&seed) >> below(64);
}

typedef struct logged_access make_access(uint64_t number, struct logged_access before);

static struct logged_access wild(uint64_t number, struct logged_access before)
{
	(void)number;
	int64_t behind = (int64_t)((uint64_t)before.offset + (uint64_t)before.length);
	return (struct logged_access){below(3) ? behind : any(), below(3) ? before.length : any(), any(), any(),
				      unit_random(&seed) >> below(64)};
}

/* One after the other; times as they are measured. */
static struct logged_access regular(uint64_t number, struct logged_access before)
{
	int64_t start = before.end + 3 + (int64_t)below(5);
	return (struct logged_access){(int64_t)number * 4096, 4096, start, start + 20 + (int64_t)below(6), 1};
}

static struct logged_access scattered(uint64_t number, struct logged_access before)
{
	(void)number;
	int64_t start = before.end + 3 + (int64_t)below(30);
	return (struct logged_access){(int64_t)below(1 << 24) * 4096, (int64_t)(1 + below(16)) * 512, start,
				      start + 20 + (int64_t)below(2000), 1 + below(2)};
}

static void fill(struct logged_access *all, size_t n, make_access *make)
{
	struct logged_access before = {0};
	for (size_t i = 0; i < n; i++)
		before = all[i] = make(i, before);
}

static void add_record(struct log_bytes *out, uint64_t id, const struct logged_access *all, size_t writes, size_t reads)
{
	struct access_writer *w = access_writer_make();
	struct access_head head = {.id = id, .rank = (int64_t)id - 1, .host = "node17"};
	for (size_t i = 0; i < writes; i++)
		CHECK(access_add(w, ACCESS_WRITES, &all[i]) == 0);
	for (size_t i = 0; i < reads; i++)
		CHECK(access_add(w, ACCESS_READS, &all[MANY - 1 - i]) == 0);
	CHECK(access_end(w, &head, out) == 0);
	CHECK(head.count[ACCESS_WRITES] == writes && head.count[ACCESS_READS] == reads);
	access_writer_free(w);
}

static bool same(const struct logged_access *a, const struct logged_access *b)
{
	return a->offset == b->offset && a->length == b->length && a->start == b->start && a->end == b->end &&
	       a->thread == b->thread;
}

static void expect_record(struct access_reader *r, uint64_t id, const struct logged_access *all, size_t writes,
			  size_t reads)
{
	struct access_head head;
	struct logged_access got[100];
	enum access_kind kind;
	size_t seen[2] = {0};
	int64_t n;
	CHECK(access_next_record(r, &head, NULL) == 1);
	CHECK(head.id == id && head.rank == (int64_t)id - 1 && !strcmp(head.host, "node17"));
	CHECK(head.count[ACCESS_WRITES] == writes && head.count[ACCESS_READS] == reads);
	while ((n = access_next(r, &kind, got, 100, NULL)) > 0)
		for (int64_t i = 0; i < n; i++, seen[kind]++)
			CHECK(same(&got[i], kind == ACCESS_WRITES ? &all[seen[kind]] : &all[MANY - 1 - seen[kind]]));
	CHECK(n == 0 && seen[ACCESS_WRITES] == writes && seen[ACCESS_READS] == reads);
}

TEST(accesses_come_back_as_they_were)
{
	static struct logged_access all[MANY];
	make_access *const makes[] = {wild, regular, scattered};
	for (int k = 0; k < 3; k++) {
		struct log_bytes out = {0};
		struct source source;
		struct access_reader *r;
		fill(all, MANY, makes[k]);
		add_record(&out, 1, all, MANY, 100);
		add_record(&out, 2, all, 0, 0);
		add_record(&out, 3, all, 0, 1);
		add_record(&out, UINT64_MAX, all, ACCESS_BLOCK, 2 * ACCESS_BLOCK);
		source_open_memory(&source, out.at, out.used);
		CHECK(access_reader_open(&r, &source, 0, out.used, NULL) == 0);
		expect_record(r, 1, all, MANY, 100);
		expect_record(r, 3, all, 0, 1);
		expect_record(r, UINT64_MAX, all, ACCESS_BLOCK, 2 * ACCESS_BLOCK);
		struct access_head head;
		CHECK(access_next_record(r, &head, NULL) == 0);
		access_reader_close(r);
		log_bytes_free(&out);
	}
}

static double bytes_each(make_access *make)
{
	static struct logged_access all[MANY];
	struct log_bytes out = {0};
	fill(all, MANY, make);
	add_record(&out, 1, all, MANY, 0);
	double each = (double)out.used / MANY;
	log_bytes_free(&out);
	return each;
}

TEST(a_regular_access_takes_a_byte_and_a_scattered_one_six)
{
	CHECK(bytes_each(regular) < 1);
	CHECK(bytes_each(scattered) < 6);
}

/* What can be read of it; a record that is damaged is refused as a whole. */
static int64_t walk(const struct log_bytes *bytes)
{
	struct source source;
	struct access_reader *r;
	struct access_head head;
	struct logged_access got[64];
	enum access_kind kind;
	int64_t all = 0, n;
	source_open_memory(&source, bytes->at, bytes->used);
	if (access_reader_open(&r, &source, 0, bytes->used, NULL) < 0)
		return 0;
	while (access_next_record(r, &head, NULL) > 0)
		while ((n = access_next(r, &kind, got, 64, NULL)) > 0)
			all += n;
	access_reader_close(r);
	return all;
}

TEST(damaged_accesses_are_refused)
{
	static struct logged_access all[MANY];
	struct log_bytes out = {0};
	fill(all, MANY, scattered);
	for (uint64_t id = 1; id <= 20; id++)
		add_record(&out, id, all, 50, 50);
	CHECK(walk(&out) == 2000);
	for (int turn = 0; turn < 500; turn++) {
		size_t at = below(out.used);
		uint8_t was = out.at[at];
		out.at[at] ^= (uint8_t)(1 + below(255));
		CHECK(walk(&out) < 2000);
		out.at[at] = was;
	}
	for (size_t n = 0; n < out.used; n += 97) {
		struct log_bytes cut = {out.at, n, n};
		CHECK(walk(&cut) < 2000);
	}
	log_bytes_free(&out);
}
