#include "encoded_table.h"

#include <string.h>

#include "compact.h"

int encoded_table_take(struct encoded_table *t, struct trailer_section *s)
{
	struct compact_part part;
	int code = compact_write_part(&t->stored, s, &part);
	if (code >= 0)
		code = log_bytes_add(&t->parts, &part, sizeof part);
	s->nrows = 0;
	s->rows.used = s->heap.used = 0;
	return code;
}

int encoded_table_add(struct encoded_table *t, const void *parts, size_t size, const void *stored, size_t stored_size)
{
	struct compact_part part;
	size_t left = stored_size;
	if (size % sizeof part)
		return LOG_E_DAMAGED;
	for (size_t at = 0; at < size; at += sizeof part) {
		memcpy(&part, (const uint8_t *)parts + at, sizeof part);
		if (!part.rows || part.stored > left)
			return LOG_E_DAMAGED;
		left -= part.stored;
	}
	if (left)
		return LOG_E_DAMAGED;
	int code = log_bytes_add(&t->parts, parts, size);
	return code < 0 ? code : log_bytes_add(&t->stored, stored, stored_size);
}

int encoded_table_write(const struct encoded_table *t, const char *name, struct log_writer *w)
{
	struct compact_part part;
	int code = 0;
	for (size_t at = 0, stored = 0; code >= 0 && at < t->parts.used; at += sizeof part, stored += part.stored) {
		memcpy(&part, t->parts.at + at, sizeof part);
		code = log_write_part(w, name, &part, t->stored.at + stored);
	}
	return code;
}

void encoded_table_free(struct encoded_table *t)
{
	log_bytes_free(&t->parts);
	log_bytes_free(&t->stored);
}
