/* The bytes that records are decoded from, and the memory that they are decoded into. */
#include "decode.h"

int decode_room(struct log_records *r, size_t n, struct log_error *err)
{
	if (n <= r->record_room)
		return LOG_OK;
	uint8_t *record = log_alloc(2 * n);
	if (!record)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	if (r->record)
		memcpy(record, r->record, r->record_room);
	log_free(r->record);
	r->record = record;
	r->record_room = 2 * n;
	return LOG_OK;
}

static int grow_buffer(struct log_records *r, size_t n, struct log_error *err)
{
	uint8_t *buffer = log_memory.alloc(n);
	if (!buffer)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	memcpy(buffer, r->buffer, r->end);
	log_free(r->buffer);
	r->buffer = buffer;
	r->room = n;
	return LOG_OK;
}

int decode_need(struct log_records *r, size_t n, struct log_error *err)
{
	if (r->end - r->at >= n)
		return 1;
	memmove(r->buffer, r->buffer + r->at, r->end - r->at);
	r->end -= r->at;
	r->at = 0;
	while (r->end < n) {
		/* No more memory than twice what is there, whatever the log says. */
		if (r->end == r->room && grow_buffer(r, 2 * r->room, err) < 0)
			return LOG_E_MEMORY;
		int64_t got = region_read(&r->region, r->buffer + r->end, r->room - r->end, err);
		if (got < 0)
			return (int)got;
		if (!got && r->end)
			return log_fail(err, LOG_E_DAMAGED, r->region.at, "region ends within a record");
		if (!got)
			return 0;
		r->end += (size_t)got;
	}
	return 1;
}

int decode_rest(struct log_records *r, size_t n, struct log_error *err)
{
	int code = decode_need(r, n, err);
	if (!code && n)
		return log_fail(err, LOG_E_DAMAGED, r->region.at, "region ends within a record");
	return code;
}

void decode_take(struct log_records *r, size_t n)
{
	r->at += n;
	r->uncompressed += n;
}
