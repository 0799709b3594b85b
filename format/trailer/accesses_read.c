#include <string.h>

#include "access_block.h"
#include "accesses.h"
#include "columns.h"
#include "crc32c.h"
#include "string_table.h"

struct access_reader {
	const struct source *source;
	uint64_t at, end;
	struct log_bytes record;
	struct cut left;       /* of it */
	uint64_t to_come[2];   /* accesses in blocks that are not read yet, by enum access_kind */
	enum access_kind kind; /* of the block at hand */
	uint64_t next, in_block;
	struct access_units units;
	struct logged_access before;
	uint64_t rows[ACCESS_BLOCK * ACCESS_WORDS];
};

int access_reader_open(struct access_reader **out, const struct source *s, uint64_t offset, uint64_t size,
		       struct log_error *err)
{
	*out = NULL;
	if (offset > s->size || size > s->size - offset)
		return log_fail(err, LOG_E_TRUNCATED, s->size, "file ends too early");
	struct access_reader *r = log_alloc(sizeof *r);
	if (!r)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	r->source = s;
	r->at = offset;
	r->end = offset + size;
	*out = r;
	return LOG_OK;
}

void access_reader_close(struct access_reader *r)
{
	if (r)
		log_bytes_free(&r->record);
	log_free(r);
}

static int damaged(const struct access_reader *r, struct log_error *err)
{
	return log_fail(err, LOG_E_DAMAGED, r->at, "record of accesses is damaged");
}

/* ---- a record ---- */

/* What stands in front of a record; r->at is behind it then. */
static int read_size(struct access_reader *r, uint64_t *size, uint32_t *crc, struct log_error *err)
{
	enum { LONGEST = 10 };
	uint8_t bytes[LONGEST + sizeof *crc];
	size_t n = r->end - r->at < sizeof bytes ? (size_t)(r->end - r->at) : sizeof bytes;
	struct cut from = {bytes, bytes + n};
	int code = source_read(r->source, r->at, bytes, n, err);
	if (code < 0)
		return code;
	if (cut_number(&from, size) < 0 || (size_t)(from.end - from.at) < sizeof *crc)
		return damaged(r, err);
	memcpy(crc, from.at, sizeof *crc);
	size_t head = (size_t)(from.at - bytes) + sizeof *crc;
	if (*size > r->end - r->at - head)
		return damaged(r, err);
	r->at += head;
	return LOG_OK;
}

static int load_record(struct access_reader *r, struct log_error *err)
{
	uint64_t size;
	uint32_t crc = 0;
	int code = read_size(r, &size, &crc, err);
	if (code < 0)
		return code;
	r->record.used = 0;
	if (log_bytes_room(&r->record, (size_t)size) < 0)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	code = source_read(r->source, r->at, r->record.at, (size_t)size, err);
	if (code >= 0 && log_crc32c(0, r->record.at, (size_t)size) != crc)
		code = damaged(r, err);
	r->left = (struct cut){r->record.at, r->record.at + size};
	r->at += size;
	return code;
}

static bool take_head(struct access_reader *r, struct access_head *h)
{
	uint64_t rank, host;
	*h = (struct access_head){0};
	if (r->left.end - r->left.at < (ptrdiff_t)sizeof h->id)
		return false;
	memcpy(&h->id, r->left.at, sizeof h->id);
	r->left.at += sizeof h->id;
	if (cut_number(&r->left, &rank) < 0 || cut_number(&r->left, &h->count[0]) < 0 ||
	    cut_number(&r->left, &h->count[1]) < 0 || cut_number(&r->left, &host) < 0)
		return false;
	if (host > ACCESS_HOST || host > (uint64_t)(r->left.end - r->left.at))
		return false;
	memcpy(h->host, r->left.at, host);
	r->left.at += host;
	h->rank = (int64_t)unzigzag(rank);
	return h->count[0] <= INT64_MAX && h->count[1] <= INT64_MAX - h->count[0];
}

int access_next_record(struct access_reader *r, struct access_head *head, struct log_error *err)
{
	r->next = r->in_block = 0;
	if (r->at == r->end)
		return 0;
	int code = load_record(r, err);
	if (code >= 0 && !take_head(r, head))
		code = damaged(r, err);
	if (code < 0) {
		r->at = r->end;
		return code;
	}
	memcpy(r->to_come, head->count, sizeof r->to_come);
	return 1;
}

/* ---- its blocks ---- */

static bool take_block(struct access_reader *r)
{
	enum { COUNT, BYTES, REGULAR, OFFSET_UNIT, LENGTH_UNIT, START, OFFSET, NUMBERS };
	uint64_t number[NUMBERS];
	r->kind = r->to_come[ACCESS_WRITES] ? ACCESS_WRITES : ACCESS_READS;
	for (int i = 0; i < NUMBERS; i++)
		if (cut_number(&r->left, &number[i]) < 0)
			return false;
	uint64_t n = number[COUNT];
	if (!n || n > ACCESS_BLOCK || n > r->to_come[r->kind] || number[BYTES] > (uint64_t)(r->left.end - r->left.at))
		return false;
	r->units = (struct access_units){number[REGULAR], number[OFFSET_UNIT], number[LENGTH_UNIT]};
	r->before = (struct logged_access){.offset = (int64_t)unzigzag(number[OFFSET]),
					   .end = (int64_t)unzigzag(number[START])};
	if (columns_read(r->left.at, (size_t)number[BYTES], r->rows, n, ACCESS_WORDS, access_no_reals) < 0)
		return false;
	r->left.at += number[BYTES];
	r->to_come[r->kind] -= n;
	r->in_block = n;
	r->next = 0;
	return true;
}

/* Numbers of a damaged block may be any. */
static void take_access(struct access_reader *r, struct logged_access *out)
{
	const uint64_t *row = &r->rows[r->next++ * ACCESS_WORDS];
	const struct access_units *u = &r->units;
	const struct logged_access *b = &r->before;
	*out = (struct logged_access){.length = (int64_t)(row[1] * u->length), .thread = row[4]};
	out->offset = (int64_t)(u->regular ? (uint64_t)b->offset + (uint64_t)b->length + row[0] : row[0] * u->offset);
	out->start = (int64_t)((uint64_t)b->end + row[2]);
	out->end = (int64_t)((uint64_t)out->start + row[3]);
	r->before = *out;
}

int64_t access_next(struct access_reader *r, enum access_kind *kind, struct logged_access *out, size_t n,
		    struct log_error *err)
{
	size_t got = 0;
	if (r->next == r->in_block) {
		if (!r->to_come[ACCESS_WRITES] && !r->to_come[ACCESS_READS])
			return 0;
		if (!take_block(r)) {
			r->to_come[ACCESS_WRITES] = r->to_come[ACCESS_READS] = 0;
			return damaged(r, err);
		}
	}
	*kind = r->kind;
	for (; got < n && r->next < r->in_block; got++)
		take_access(r, &out[got]);
	return (int64_t)got;
}
