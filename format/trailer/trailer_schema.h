/* Schema text of trailer sections. */
#ifndef IOLENS_TRAILER_SCHEMA_H
#define IOLENS_TRAILER_SCHEMA_H

#include "trailer.h"

/*
 * Parses n bytes of text; NULs at the end are padding. out may be NULL to count. Returns the number of fields and the
 * bytes they take in *row_size, or LOG_E_DAMAGED.
 */
int64_t trailer_parse_schema(const char *text, size_t n, struct trailer_field *out, uint64_t *row_size);

#endif
