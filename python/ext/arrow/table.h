/*
 * A batch of rows in Arrow's layout, growing at its end. Fixed-width columns lie in one piece of memory, which lives
 * until the last exported column is released.
 */
#ifndef IOLENS_TABLE_H
#define IOLENS_TABLE_H

#include "error.h"
#include "form.h"

/* Texts that columns refer to by number, each once: consumers take them for categories. */
struct dictionary {
	atomic_int refs;
	int32_t count;
	int32_t *offsets; /* count + 1 */
	struct log_bytes bytes;
	uint32_t *index; /* hash table: number + 1, 0 = free */
	size_t index_size;
};

/* For at most `room` texts. */
struct dictionary *dictionary_new(size_t room);
/* Number of a text, made valid UTF-8, or a negative code. */
int32_t dictionary_add(struct dictionary *d, const char *text, size_t n);
struct dictionary *dictionary_hold(struct dictionary *d);
void dictionary_drop(struct dictionary *d);

/* Appends text; bytes that are not UTF-8 as \xNN. */
int text_append(struct log_bytes *to, const char *text, size_t n);

struct column {
	uint8_t *values; /* in the slab; offsets for text and lists */
	uint8_t *valid;  /* bitmap; NULL = no nulls so far */
	int64_t nulls;
	uint8_t *ready;         /* pages before this have been asked for */
	struct log_bytes bytes; /* text, or elements of lists */
	struct dictionary *dictionary;
};

struct table {
	atomic_int refs;
	struct form *form;
	int64_t rows;
	int64_t room;
	int64_t limit; /* rows it may have */
	uint8_t *slab;
	size_t slab_size;
	bool zeroed; /* rows that are not there yet are zero */
	struct column columns[];
};

struct table *table_new(struct form *form, int64_t room, int64_t limit);
void table_drop(struct table *t);

/* How many of n rows fit in (0 = full), or a negative code. They are not counted before table_grown. */
int64_t table_room(struct table *t, int64_t n);
static inline void table_grown(struct table *t, int64_t n)
{
	t->rows += n;
}

/* Where the values of a row begin. */
static inline uint8_t *table_at(const struct table *t, int slot, int64_t row)
{
	return t->columns[slot].values + (size_t)row * column_width(&t->form->columns[slot].is);
}

/* Where memory is zero: has the kernel give pages for what is to be written, many at a time. */
void table_ready(struct table *t, int slot, uint8_t *at, size_t n);

/* Makes n rows from `row` null. 0 or a negative code. */
int table_null(struct table *t, int slot, int64_t row, int64_t n);

/*
 * Setters for the row at t->rows, by the order in which columns were added to the form; columns that were not selected
 * are skipped. Offsets of text and lists need to be set for each row.
 */
void table_set_i64(struct table *t, int added, int64_t value);
void table_set_f64(struct table *t, int added, double value);
int table_set_null(struct table *t, int added);
int table_set_text(struct table *t, int added, const char *text, size_t n);
int table_set_list(struct table *t, int added, const void *elements, size_t n);
void table_use_dictionary(struct table *t, int added, struct dictionary *d);

/* Hands the table over, whatever comes out. 0 or errno. */
int table_export(struct table *t, struct ArrowArray *out);

#endif
