/*
 * What a table consists of: its columns, with the notes that become Arrow metadata. Reference-counted, because exported
 * schemas and batches outlive their maker; read-only once the first of them exists.
 */
#ifndef IOLENS_FORM_H
#define IOLENS_FORM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "alloc.h"
#include "arrow.h"

enum column_type { COLUMN_I64, COLUMN_U64, COLUMN_F64, COLUMN_TIME, COLUMN_I32, COLUMN_TEXT, COLUMN_CODE };
enum column_shape { SHAPE_ONE, SHAPE_FIXED, SHAPE_LIST };

enum { COLUMNS_MAX = 512, NOT_SELECTED = -1 };

struct note {
	const char *key;
	const char *value;
};

struct column_form {
	const char *name;
	enum column_type type; /* COLUMN_CODE: text by its number in a dictionary */
	enum column_shape shape;
	uint32_t count; /* elements in a row: 1 unless SHAPE_FIXED */
	bool nullable;
	const char *unit; /* "" = a count, or nothing to measure */
	const struct note *notes;
	size_t nnotes;
};

struct form_column {
	struct column_form is;
	char format[24];
	struct log_bytes metadata; /* encoded */
	char *text;                /* the name */
};

struct form {
	atomic_int refs;
	int failed;
	size_t ncolumns;
	struct form_column *columns;
	/* Columns by the order in which their makers add them: number, or NOT_SELECTED. */
	size_t nadded;
	int slot[COLUMNS_MAX];
	const char *const *selection; /* names wanted, ended by NULL; NULL = all. Only while it is made */
	struct log_bytes metadata;
	int log_column; /* number of the column that says which log of a scan; -1 = none */
};

struct form *form_new(const char *const *selection);
struct form *form_hold(struct form *f);
void form_drop(struct form *f);

/* Every table's maker adds its columns in a fixed order; those not selected are dropped. Errors stay in f->failed. */
void form_add(struct form *f, const struct column_form *column);
/* The same for one plain column. */
void form_plain(struct form *f, const char *name, enum column_type type, const char *unit, const char *doc);
void form_annotate(struct form *f, const char *key, const char *value);
/* Is a column of this name wanted that is not there yet? */
bool form_lacks(const struct form *f, const char *name);

/* Bytes of a row's values; of the offset where they are of variable length. */
size_t column_width(const struct column_form *c);
/* Arrow's format of an element: of the values, of a list's items, of what a code stands for. */
const char *column_element_format(const struct column_form *c);

int form_export(struct form *f, struct ArrowSchema *out);

#endif
