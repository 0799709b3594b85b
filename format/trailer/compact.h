/*
 * Sections of a finished log's trailer as they are stored: schema and texts (string_table.h), then the rows as columns (columns.h).
 * docs/reference/extension-trailer.md has it byte by byte.
 */
#ifndef IOLENS_COMPACT_H
#define IOLENS_COMPACT_H

#include "deflater.h"
#include "trailer.h"

/*
 * Its last byte is the version; of those from COMPACT_OLDEST on each has the words of the ones before, and more. A log is of version
 * COMPACT_PARTS only if a table of it has parts: who knows no parts says that the version is unknown.
 */
#define COMPACT_MAGIC "iolens\0\4"
enum { COMPACT_OLDEST = 2, COMPACT_PARTS = 5 };

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

/* Directory and footer for the sections that end where they begin; of an entry name, stored, raw, rows and crc. */
int compact_write_directory(struct log_bytes *out, const struct trailer_entry *entry, size_t n);

/* The entries of a directory, and where its sections begin: `ends` is where the directory does. Free *entries. */
int compact_read_directory(const uint8_t *at, size_t size, uint64_t ends, struct trailer_entry **entries, size_t *n);

#endif
