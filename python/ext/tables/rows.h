/*
 * The tables of a log as rows: what is to be read (struct view), what it looks like (view_form), and who fills batches
 * with it (struct rows). A kind of table is one row in the list of rows.c and one file.
 */
#ifndef IOLENS_ROWS_H
#define IOLENS_ROWS_H

#include "handle.h"

struct table_kind;

struct view {
	const struct table_kind *kind;
	int module;                   /* for the tables of a module */
	const char *section;          /* for the tables of the trailer */
	bool names;                   /* with a column `name` */
	bool mounts;                  /* with columns `mount` and `file_system` */
	bool scan;                    /* with a column `log` */
	const char *const *selection; /* columns wanted, ended by NULL; NULL = all */
};

/* Fills batches from one log. */
struct rows {
	const struct table_kind *kind;
	struct handle *handle;
	const struct view *view;
};

struct table_kind {
	const char *name;
	/* Adds the columns; errors other than of memory need the log. log may be NULL when it is of no use. */
	int (*form)(struct form *f, const struct view *v, struct log *log, struct log_error *err);
	size_t size; /* of its struct, which begins with struct rows */
	int (*open)(struct rows *r, const struct form *f, struct log_error *err);
	/* Appends rows: 1 = the table is full, 0 = there are no more, or a negative code. */
	int (*fill)(struct rows *r, struct table *t, struct log_error *err);
	void (*close)(struct rows *r);
	/* A guess at the number of rows; may be NULL. */
	int64_t (*guess)(const struct rows *r);
};

extern const struct table_kind kind_records, kind_heatmap, kind_segments, kind_names, kind_job, kind_mounts,
	kind_metadata, kind_modules, kind_section;

/* NULL if there is no such kind. */
const struct table_kind *find_kind(const char *name);
/* How a module's records become a table. */
const struct table_kind *module_kind(int module);

/* Logs that say the columns of a table, where its kind does not: a section has those of all of them, by name. */
struct form_logs {
	struct handle *const *handles;
	size_t n;
	size_t at; /* the one that was read last: where it fails, that one */
};

int view_form(struct form **out, const struct view *v, struct form_logs *logs, struct log_error *err);
/* v and f must stay. A log without the table has no rows. */
int rows_open(struct rows **out, const struct view *v, struct handle *h, const struct form *f, struct log_error *err);
void rows_close(struct rows *r);

/* May the module become so many bytes? 0 or LOG_E_BUDGET. */
int rows_allowed(const struct rows *r, uint64_t unpacked, struct log_error *err);

/* A batch with room for the rows of so many logs, if they are all like this one. */
struct table *rows_table(const struct rows *r, struct form *f, int64_t batch_rows, size_t logs);

#endif
