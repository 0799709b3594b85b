/*
 * Counters that the logs which a log was made from did not have: trailer section "uncounted" (module, counter). Without it a
 * log that was converted from an older version would claim to have measured what it says -1 of.
 */
#ifndef IOLENS_MISSING_H
#define IOLENS_MISSING_H

#include "log.h"
#include "trailer.h"

struct log_missing {
	size_t n;
	const struct schema_field *field[]; /* of records, and of elements of their arrays */
};

/* What the log's trailer says; NULL = nothing. Belongs to the log. */
const struct log_missing *missing_of(struct log *log);

/* Fields of a module by number, those of array elements behind the others; NULL = there are no more. */
const struct schema_field *missing_field(const struct schema_module *m, size_t number);

int missing_begin(struct trailer_section *s);
int missing_add(struct trailer_section *s, const struct schema_module *m, size_t number);

/* Would a record that is written today have the field in any case? What a header decides is decided by the header. */
bool missing_matters(const struct schema_module *m, const struct schema_field *f);

#endif
