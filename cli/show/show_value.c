/* Numbers as darshan-parser prints them, and the objects of DAOS. */
#include <stdio.h>

#include "show.h"

char *show_value(char *to, enum field_type type, const void *at)
{
	uint64_t bits;
	double value;
	memcpy(&bits, at, sizeof bits);
	memcpy(&value, at, sizeof value);
	if (type == FIELD_F64)
		return put_fixed(to, value);
	return type == FIELD_I64 ? put_i64(to, (int64_t)bits) : put_u64(to, bits);
}

static char *put_uuid(char *to, const uint8_t *u)
{
	for (int i = 0; i < 16; i++)
		to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	return to;
}

bool show_object(const struct log_record *r, char object[SHOW_TEXT], char mount[SHOW_TEXT])
{
	static const uint8_t unknown[16];
	const struct schema_field *pool = schema_by_name(r->schema, "pool");
	const struct schema_field *high = schema_by_name(r->schema, "object_high");
	if (!pool || pool->type != FIELD_UUID)
		return false;
	const uint8_t *uuids = (const uint8_t *)r->data + pool->offset;
	if (!memcmp(uuids, unknown, 16) || !memcmp(uuids + 16, unknown, 16)) {
		strcpy(mount, "UNKNOWN");
	} else {
		char *to = put_uuid(mount, uuids);
		*to++ = ':';
		put_uuid(to, uuids + 16);
	}
	*object = 0;
	if (high) {
		uint64_t id[2];
		memcpy(id, (const uint8_t *)r->data + high->offset, sizeof id);
		snprintf(object, SHOW_TEXT, "%llu.%llu", (unsigned long long)id[0], (unsigned long long)id[1]);
	}
	return true;
}
