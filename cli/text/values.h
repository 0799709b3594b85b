/* The values of a record one by one, with the names that iolens gives them: read_time, size_read_0_100, read_bin[3]. */
#ifndef IOLENS_VALUES_H
#define IOLENS_VALUES_H

#include "log.h"

enum { VALUE_NAME = 96 };

struct value {
	const struct schema_field *field; /* for a member of a struct: that member */
	const struct schema_field *array; /* the array it is an element of, NULL = of none */
	char name[VALUE_NAME];
	const void *at; /* 8 bytes, or `bytes` of a text or uuid */
	size_t bytes;
	bool known; /* false: the record's version lacks it */
};

/* Calls until `see` returns false. */
void values_each(const struct log_record *r, bool (*see)(void *context, const struct value *v), void *context);

#endif
