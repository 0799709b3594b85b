/* Writing records of accesses: what is known of an access from the one before is taken out, and the rest goes into columns. */
#include "accesses.h"

#include <string.h>

#include "access_block.h"
#include "columns.h"
#include "crc32c.h"
#include "string_table.h"

struct stream {
	struct logged_access waiting[ACCESS_BLOCK];
	uint64_t waits;
	uint64_t count; /* of all */
	struct log_bytes blocks;
};

struct access_writer {
	struct stream stream[2];
	uint64_t rows[ACCESS_BLOCK * ACCESS_WORDS];
	struct log_bytes table, record;
};

struct access_writer *access_writer_make(void)
{
	return log_alloc(sizeof(struct access_writer));
}

void access_writer_free(struct access_writer *w)
{
	if (!w)
		return;
	for (int kind = 0; kind < 2; kind++)
		log_bytes_free(&w->stream[kind].blocks);
	log_bytes_free(&w->table);
	log_bytes_free(&w->record);
	log_free(w);
}

/* ---- a block ---- */

static uint64_t magnitude(int64_t x)
{
	return x < 0 ? -(uint64_t)x : (uint64_t)x;
}

/* The largest number that both are multiples of. */
static uint64_t divisor(uint64_t unit, int64_t of)
{
	uint64_t a = magnitude(of);
	if (!a || (unit && !(a % unit)))
		return unit;
	for (uint64_t rest; unit; unit = rest) {
		rest = a % unit;
		a = unit;
	}
	return a;
}

/* Do most accesses begin where the last one ended, or as far from it as that from the one before? */
static bool is_regular(const struct logged_access *a, uint64_t n)
{
	uint64_t regular = 0;
	int64_t gap = 0;
	for (uint64_t i = 1; i < n; i++) {
		int64_t now = a[i].offset - a[i - 1].offset - a[i - 1].length;
		regular += !now || now == gap;
		gap = now;
	}
	return 2 * regular >= n - 1;
}

static struct access_units units_of(const struct logged_access *a, uint64_t n)
{
	struct access_units u = {is_regular(a, n), 0, 0};
	for (uint64_t i = 0; i < n; i++) {
		u.offset = u.regular ? 1 : divisor(u.offset, a[i].offset);
		u.length = divisor(u.length, a[i].length);
	}
	u.offset += !u.offset;
	u.length += !u.length;
	return u;
}

static void fill_rows(uint64_t *rows, const struct logged_access *a, uint64_t n, const struct access_units *u)
{
	struct logged_access before = {.offset = a->offset, .end = a->start};
	for (uint64_t i = 0; i < n; i++, rows += ACCESS_WORDS) {
		rows[0] = u->regular ? (uint64_t)(a[i].offset - before.offset - before.length)
				     : (uint64_t)(a[i].offset / (int64_t)u->offset);
		rows[1] = (uint64_t)(a[i].length / (int64_t)u->length);
		rows[2] = (uint64_t)(a[i].start - before.end);
		rows[3] = (uint64_t)(a[i].end - a[i].start);
		rows[4] = a[i].thread;
		before = a[i];
	}
}

static int put_numbers(struct log_bytes *out, const uint64_t *numbers, size_t n)
{
	int code = 0;
	for (size_t i = 0; code >= 0 && i < n; i++)
		code = add_number(out, numbers[i]);
	return code;
}

static int put_block(struct access_writer *w, struct stream *s)
{
	const struct logged_access *first = s->waiting;
	struct access_units u = units_of(first, s->waits);
	fill_rows(w->rows, first, s->waits, &u);
	w->table.used = 0;
	int code = columns_write(&w->table, w->rows, s->waits, ACCESS_WORDS, access_no_reals);
	const uint64_t head[] = {s->waits,
				 w->table.used,
				 u.regular,
				 u.offset,
				 u.length,
				 zigzag((uint64_t)first->start),
				 u.regular ? zigzag((uint64_t)first->offset) : 0};
	code = code < 0 ? code : put_numbers(&s->blocks, head, sizeof head / sizeof *head);
	code = code < 0 ? code : log_bytes_add(&s->blocks, w->table.at, w->table.used);
	s->waits = 0;
	return code;
}

int access_add(struct access_writer *w, enum access_kind kind, const struct logged_access *a)
{
	struct stream *s = &w->stream[kind];
	s->waiting[s->waits++] = *a;
	s->count++;
	return s->waits < ACCESS_BLOCK ? 0 : put_block(w, s);
}

void access_forget(struct access_writer *w)
{
	for (int kind = 0; kind < 2; kind++) {
		w->stream[kind].waits = w->stream[kind].count = 0;
		w->stream[kind].blocks.used = 0;
	}
}

/* ---- a record ---- */

static int put_head(struct log_bytes *out, const struct access_head *h)
{
	size_t host = strnlen(h->host, ACCESS_HOST);
	const uint64_t numbers[] = {zigzag((uint64_t)h->rank), h->count[0], h->count[1], host};
	int code = log_bytes_add(out, &h->id, sizeof h->id);
	code = code < 0 ? code : put_numbers(out, numbers, sizeof numbers / sizeof *numbers);
	return code < 0 ? code : log_bytes_add(out, h->host, host);
}

static int put_streams(struct access_writer *w)
{
	int code = 0;
	for (int kind = 0; code >= 0 && kind < 2; kind++) {
		struct stream *s = &w->stream[kind];
		code = s->waits ? put_block(w, s) : 0;
		code = code < 0 ? code : log_bytes_add(&w->record, s->blocks.at, s->blocks.used);
	}
	return code;
}

int access_end(struct access_writer *w, struct access_head *head, struct log_bytes *out)
{
	for (int kind = 0; kind < 2; kind++)
		head->count[kind] = w->stream[kind].count;
	if (!head->count[0] && !head->count[1])
		return 0;
	w->record.used = 0;
	int code = put_head(&w->record, head);
	code = code < 0 ? code : put_streams(w);
	uint32_t crc = log_crc32c(0, w->record.at, w->record.used);
	code = code < 0 ? code : add_number(out, w->record.used);
	code = code < 0 ? code : log_bytes_add(out, &crc, sizeof crc);
	code = code < 0 ? code : log_bytes_add(out, w->record.at, w->record.used);
	access_forget(w);
	return code;
}
