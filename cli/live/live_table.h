/* The rows of a view: jobs, or of a job its files, processes, interfaces, operations; sorted and filtered, as text. */
#ifndef IOLENS_LIVE_TABLE_H
#define IOLENS_LIVE_TABLE_H

#include "live_job.h"
#include "output.h"

enum live_view { LIVE_JOBS, LIVE_FILES, LIVE_PROCESSES, LIVE_INTERFACES, LIVE_OPERATIONS, LIVE_VIEWS };

enum { LIVE_COLUMNS = 10, LIVE_CELL = 24 };

struct live_row {
	size_t of; /* number of the job, file, ... */
	double key[LIVE_COLUMNS];
	char cell[LIVE_COLUMNS][LIVE_CELL];
	const char *text; /* the last column, which takes what room there is */
};

struct live_table {
	enum live_view view;
	struct live_row *rows;
	size_t n;
};

struct live_order {
	int column; /* -1 = as the view has it usually; that of the text is the number of the others */
	bool reversed;
	const char *filter; /* part of the text, in any case; "" = all */
	const char *store;  /* of files those of this process alone; NULL or "" = of all */
	uint64_t file;      /* of processes those that have it, and what they did to it; 0 = all */
};

/* `job`: NULL for the view of jobs. False: no memory. */
bool live_table_make(struct live_table *t, const struct live *l, const struct live_job *job, enum live_view view,
		     const struct live_order *order);
void live_table_free(struct live_table *t);

const char *live_view_name(enum live_view view);
int live_view_columns(enum live_view view);

/* Title line, and a row's; no more than `width` characters, 0 = any number. */
void live_table_titles(struct output *out, enum live_view view, int sorted, size_t width);
void live_table_row(struct output *out, const struct live_table *t, size_t row, size_t width);

/* A text for a terminal, cut in its middle to `width` characters; returns how many it took. */
size_t live_put_cut(struct output *out, const char *text, size_t width);

#endif
