/*
 * The directory of a log's trailer, and the small tables, whose rows and texts it holds itself
 * (docs/reference/extension-trailer.md). Directories of versions before hold none.
 */
#ifndef IOLENS_DIRECTORY_H
#define IOLENS_DIRECTORY_H

#include "compact.h"
#include "index.h"
#include "string_table.h"

/* ---- writing ---- */

struct directory {
	struct log_bytes entries, columns; /* as they are stored */
	uint64_t count;
	struct text_index texts; /* of small tables */
};

/* Few enough rows for the directory. */
bool directory_takes(const struct trailer_section *s);
int directory_add_table(struct directory *d, const struct trailer_section *s);
/* A section that stands before the directory, or a part of one. */
int directory_add_section(struct directory *d, const char *name, const struct compact_part *part);
/* Appends directory and footer. */
int directory_write(struct directory *d, struct log_bytes *out);
void directory_free(struct directory *d);

/* ---- reading ---- */

struct directory_contents {
	struct trailer_entry *entries; /* TRAILER_SMALL: offset is that of the columns, in the file */
	size_t count;
	struct trailer_field **fields; /* of small tables, by entry */
	struct log_bytes texts;
	struct string_place *places;
	uint64_t ntexts;
};

/* `ends`: where the directory begins in the file. LOG_OK, LOG_E_DAMAGED or LOG_E_MEMORY; free it in either case. */
int directory_read(struct directory_contents *c, const uint8_t *at, size_t size, uint64_t ends);
/* The same of versions before. */
int directory_read_old(struct directory_contents *c, const uint8_t *at, size_t size, uint64_t ends);
void directory_contents_free(struct directory_contents *c);

/* A small table whose columns, entry->stored bytes, are at `columns`. */
int directory_read_table(const struct directory_contents *c, size_t entry, const uint8_t *columns,
			 struct compact_table *t);

#endif
