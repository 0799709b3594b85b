/*
 * Sections of a finished log's trailer as they are stored: schema and texts (string_table.h), then the rows as columns (columns.h).
 * docs/reference/extension-trailer.md has it byte by byte.
 */
#ifndef IOLENS_COMPACT_H
#define IOLENS_COMPACT_H

#include "deflater.h"
#include "trailer.h"

/*
 * Its last byte is the version; of those from COMPACT_OLDEST on each has the words of the ones before, and more. Tables have parts in
 * version 5, and in those from COMPACT_SMALL on, in which the directory holds small tables (directory.h).
 */
#define COMPACT_MAGIC "iolens\0\6"
enum { COMPACT_OLDEST = 2, COMPACT_SMALL = 6, COMPACT_NEWEST = 6 };

struct compact_footer {
	uint32_t length; /* of the directory, which ends where the footer begins */
	uint32_t crc;    /* of the directory and that length */
	char magic[8];
};

_Static_assert(sizeof(struct compact_footer) == 16, "footer");

/* Appends the section. *deflater is made when it is needed. */
int compact_write(struct log_bytes *out, const struct trailer_section *s, struct deflater **deflater);

/* Rows of a table as they are stored. */
struct compact_part {
	uint64_t rows, stored, raw;
	uint32_t crc, reserved;
};

/*
 * Appends the section as one of several parts of a table. Its size is in proportion to its memory whatever that is: a log may have
 * many of them.
 */
int compact_write_part(struct log_bytes *out, const struct trailer_section *s, struct compact_part *part);

/* True when a log with so many stored bytes must not ask for that much memory. */
bool compact_too_large(uint64_t raw, uint64_t stored);

/* What a section was: rows, then strings. */
struct compact_table {
	struct log_bytes bytes;
	struct trailer_field *fields;
	size_t nfields, row_size;
};

/* `raw` is what it was before. LOG_OK, LOG_E_DAMAGED or LOG_E_MEMORY; free bytes and fields in either case. */
int compact_read(struct compact_table *t, const uint8_t *at, size_t size, uint64_t rows, uint64_t raw);

/* Which words of a row are doubles. */
void compact_mark_real(bool *real, const struct trailer_field *fields, size_t n);

struct string_place;

/* Numbers of texts in n rows become where these are. */
int compact_refer(const struct compact_table *t, uint64_t *rows, uint64_t n, const struct string_place *place,
		  uint64_t texts);

#endif
