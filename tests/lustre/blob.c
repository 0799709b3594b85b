#include "blob.h"

#include <string.h>

static void overwrite(struct blob *b, size_t at, uint64_t value, int bytes)
{
	for (int k = 0; k < bytes; k++)
		b->at[at + (size_t)k] = (uint8_t)(value >> 8 * k);
}

void blob_put(struct blob *b, uint64_t value, int bytes)
{
	overwrite(b, b->n, value, bytes);
	b->n += (size_t)bytes;
}

static void put_object(struct blob *b, uint32_t number, uint32_t target)
{
	blob_put(b, 1000 + number, 8);
	blob_put(b, 0, 8);
	blob_put(b, 0, 4);
	blob_put(b, target, 4);
}

void blob_stripes(struct blob *b, const struct blob_stripes *s)
{
	char pool[17] = "";
	blob_put(b, s->pool ? 0x0BD30BD0 : 0x0BD10BD0, 4);
	blob_put(b, s->pattern ? s->pattern : 1, 4);
	blob_put(b, 0x200000401, 8);
	blob_put(b, 7, 8);
	blob_put(b, s->size, 4);
	blob_put(b, s->count, 2);
	blob_put(b, 0, 2);
	if (s->pool) {
		strncpy(pool, s->pool, 16);
		memcpy(b->at + b->n, pool, 16);
		b->n += 16;
	}
	for (uint32_t k = 0; s->targets && k < s->count; k++)
		put_object(b, k, s->targets[k]);
}

void blob_foreign(struct blob *b, uint32_t length)
{
	blob_put(b, 0x0BD70BD0, 4);
	blob_put(b, length, 4);
	blob_put(b, 0xda05, 4);
	blob_put(b, 0, 4);
	for (uint32_t k = 0; k < length; k++)
		blob_put(b, 'x', 1);
}

void blob_composite(struct blob *b, const struct blob_entry *e, uint16_t n)
{
	blob_put(b, 0x0BD60BD0, 4);
	blob_put(b, 0, 4); /* size: by blob_end */
	blob_put(b, 3, 4);
	blob_put(b, 0, 2);
	blob_put(b, n, 2);
	blob_put(b, 0, 8);
	blob_put(b, 0, 8);
	for (uint16_t k = 0; k < n; k++) {
		blob_put(b, e[k].id, 4);
		blob_put(b, e[k].flags, 4);
		blob_put(b, e[k].start, 8);
		blob_put(b, e[k].end, 8);
		blob_put(b, 0, 8); /* offset and size */
		blob_put(b, 0, 4);
		blob_put(b, 0, 8);
		blob_put(b, 0, 4);
	}
}

void blob_begin(struct blob *b, uint16_t entry)
{
	overwrite(b, 32 + 48 * (size_t)entry + 24, b->n, 4);
}

void blob_end(struct blob *b, uint16_t entry)
{
	size_t at = 32 + 48 * (size_t)entry + 24;
	uint32_t begun;
	memcpy(&begun, b->at + at, sizeof begun);
	overwrite(b, at + 4, b->n - begun, 4);
	overwrite(b, 4, b->n, 4);
}
