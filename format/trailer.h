/*
 * The extension trailer: tables behind the last region of a log, where Darshan's tools do not look.
 *
 *	sections..., directory, footer at the very end of the file
 *
 * A section is a table that describes itself: schema text, rows of fixed width, strings. The schema has one line per
 * field, `name type[count] unit`, with the types i64, u64, f64, str (u32 offset and u32 length into the section's
 * strings) and char (text in place, NUL-padded; count is a multiple of 8). Elements have 8 bytes and no gaps, but a row
 * may be wider than its fields. Readers find fields by name. Everything is little-endian.
 *
 * In a log they are compact (compact.h). The store of a running program has a directory of struct trailer_entry and a struct
 * trailer_footer instead, and sections in place: not compressed, no CRC, `rows` grows in place.
 */
#ifndef IOLENS_TRAILER_H
#define IOLENS_TRAILER_H

#include <stdbool.h>

#include "alloc.h"
#include "log.h"

enum { TRAILER_VERSION = 1, TRAILER_NAME = 32, TRAILER_IN_PLACE = 1, TRAILER_COMPACT = 4, TRAILER_SMALL = 8 };
enum trailer_type { TRAILER_I64, TRAILER_U64, TRAILER_F64, TRAILER_STR, TRAILER_CHAR };

#define TRAILER_MAGIC "iolens\0"

struct trailer_entry {
	char name[TRAILER_NAME];
	uint64_t offset; /* in the file */
	uint64_t stored; /* bytes in the file */
	uint64_t raw;    /* the same without compression */
	uint64_t rows;
	uint64_t heap;        /* where the strings begin, counted from the start of the raw section */
	uint32_t schema;      /* bytes of schema text with its padding: where the rows begin */
	uint32_t row_size;    /* bytes */
	uint32_t compression; /* LOG_PLAIN */
	uint32_t flags;       /* TRAILER_IN_PLACE; in memory TRAILER_COMPACT and TRAILER_SMALL */
	uint32_t crc;         /* CRC-32C of the stored bytes; 0 when in place */
	uint32_t reserved;
};

struct trailer_footer {
	char magic[8];
	uint32_t version;
	uint32_t flags; /* TRAILER_IN_PLACE: entries change in place */
	uint64_t directory;
	uint64_t length; /* of the directory */
	uint32_t reserved[7];
	uint32_t crc; /* of the footer before this field */
};

_Static_assert(sizeof(struct trailer_entry) == 96, "directory entry");
_Static_assert(sizeof(struct trailer_footer) == 64, "footer");

struct trailer_field {
	char name[40];
	char unit[24];
	enum trailer_type type;
	uint32_t count;  /* elements; bytes for TRAILER_CHAR */
	uint32_t offset; /* in the row */
};

/* ---- reading ---- */

struct trailer;
struct trailer_table;

/* *out = NULL and LOG_OK when the log has no trailer. The log must stay open. */
int trailer_open(struct trailer **out, struct log *log, struct log_error *err);
void trailer_close(struct trailer *t);
size_t trailer_count(const struct trailer *t);
const struct trailer_entry *trailer_at(const struct trailer *t, size_t i);

/* An entry by its name, NULL if there is none or t is NULL. */
const struct trailer_entry *trailer_entry_named(const struct trailer *t, const char *name);
/* Bytes of the first row of a section that is not compressed, from offset `from` in that row. */
int trailer_read_row(struct trailer *t, const struct trailer_entry *e, uint64_t from, void *out, size_t n,
		     struct log_error *err);

/* Loads a section. *out = NULL and LOG_OK when there is none of that name, or t is NULL. */
int trailer_find(struct trailer *t, const char *name, struct trailer_table **out, struct log_error *err);
void trailer_free(struct trailer_table *table);

uint64_t trailer_rows(const struct trailer_table *t);
size_t trailer_fields(const struct trailer_table *t);
const struct trailer_field *trailer_field_at(const struct trailer_table *t, size_t i);
/* NULL if the section has no such field; the getters then return 0 or "". */
const struct trailer_field *trailer_field(const struct trailer_table *t, const char *name);

/* Element `at` of a field; numbers are converted between the three number types. */
int64_t trailer_i64(const struct trailer_table *t, uint64_t row, const struct trailer_field *f, uint32_t at);
double trailer_f64(const struct trailer_table *t, uint64_t row, const struct trailer_field *f, uint32_t at);
/* Text of a str or char field; *length bytes, not ended by NUL. */
const char *trailer_text(const struct trailer_table *t, uint64_t row, const struct trailer_field *f, uint32_t at,
			 size_t *length);
/* The same of a field by its name, into `room` bytes: as much as fits, and a NUL. */
void trailer_copy_text(const struct trailer_table *t, uint64_t row, const char *field, char *to, size_t room);
/* The row's bytes, trailer_row_size of them. */
const void *trailer_row(const struct trailer_table *t, uint64_t row);
size_t trailer_row_size(const struct trailer_table *t);

/* ---- writing: fill a section, hand it to log_write_section ---- */

struct trailer_section {
	char name[TRAILER_NAME];
	const char *coming;      /* its schema, until the first row comes */
	struct log_bytes schema; /* padded text */
	struct trailer_field *fields;
	size_t nfields;
	size_t next; /* where a field is looked for first: behind the one that was found last */
	uint32_t row_size;
	struct log_bytes rows;
	struct log_bytes heap;
	uint64_t nrows;
	int failed; /* first error; everything after it does nothing */
};

/* schema is text as above. Returns 0 or a negative code; free it in either case. */
int section_begin(struct trailer_section *s, const char *name, const char *schema);
/* The same; it has no fields before the first row comes. The schema must stay. */
int section_begin_empty(struct trailer_section *s, const char *name, const char *schema);
/* Now it has, rows or not. */
int section_need_fields(struct trailer_section *s);
/* Begins a row of zeros; the setters below fill it. */
int section_row(struct trailer_section *s);
int section_set_i64(struct trailer_section *s, const char *field, uint32_t at, int64_t value);
int section_set_f64(struct trailer_section *s, const char *field, uint32_t at, double value);
int section_set_text(struct trailer_section *s, const char *field, uint32_t at, const char *text);
/* Appends a whole row of row_size bytes as it is (its str fields must be 0, or refer to this section's strings). */
int section_add_row(struct trailer_section *s, const void *row);
/* Rows of a section with the same schema, whose strings are in `heap`. */
int section_add_rows(struct trailer_section *s, const void *rows, uint64_t nrows, const char *heap, size_t size);
/* The same, but does not look whether a string is there already. */
int section_append(struct trailer_section *s, const void *rows, uint64_t nrows, const char *heap, size_t size);
void section_free(struct trailer_section *s);

/* ---- sections in place, laid out in the mapping of a store ---- */

/* Bytes the section takes: a multiple of 64. 0 if the schema is wrong or does not fit row_size. */
size_t section_in_place_size(const char *schema, uint32_t row_size, uint64_t capacity, size_t heap);
/*
 * Writes the schema at base + offset and fills the entry, with no rows. row_size 0 = just the fields. Returns where the
 * rows begin, NULL if the schema is wrong; `capacity` rows and `heap` bytes of strings fit. Raise entry->rows when a
 * row is complete.
 */
void *section_in_place(struct trailer_entry *entry, void *base, uint64_t offset, const char *name, const char *schema,
		       uint32_t row_size, uint64_t capacity, size_t heap);
/* Footer for `entries` entries at `directory`; it belongs at the end of the file. */
void footer_in_place(struct trailer_footer *footer, uint64_t directory, size_t entries);

#endif
