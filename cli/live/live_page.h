/* Jobs as text: a line of sums, the heat map, tables. */
#ifndef IOLENS_LIVE_PAGE_H
#define IOLENS_LIVE_PAGE_H

#include "live_table.h"

/* The line above all: how many jobs, processes, and what they move. */
void live_put_sums(struct output *out, const struct live *l, size_t width);

/* Of a job: its name, its command and what it moves; each line ends with `end`. Returns how many lines: two, or more if narrow. */
size_t live_put_head(struct output *out, const struct live *l, const struct live_job *j, size_t width, const char *end);

/* The nodes that were asked and do not answer, in a line; returns how many lines, 0 or 1. */
size_t live_put_silent(struct output *out, const struct live *l, size_t width, const char *end);

/* Its heat map from its start to now, two lines (read, written), and its sizes, whose lines are counted. */
enum { LIVE_HEAT_LINES = 2 };
void live_put_heat(struct output *out, const struct live_job *j, size_t width, const char *end);
size_t live_put_sizes(struct output *out, const struct live_job *j, size_t width, const char *end);

/* All of it, for a terminal that scrolls or a file: one job in full, or the list of jobs. False: no memory. */
bool live_put_page(struct output *out, const struct live *l, size_t rows, size_t width);

#endif
