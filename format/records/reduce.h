/*
 * One record out of several: ranks' records of a shared file, or all records of a module. Driven by the schema's reduce
 * rules; serves the runtime, the assembly of job logs and `show --total`.
 *
 *	reduce_begin(m, a, &sa); reduce_begin(m, b, &sb);
 *	reduce_merge(m, a, &sa, b, &sb);	any order, any grouping
 *	reduce_end(m, a, &sa);
 *
 * Tables of the four most frequent values: with `most` set in the state of `into`, all values of the operands are kept
 * beside the record until reduce_end, so that any order gives the same four. Without, four are kept at every step. What a
 * single operand had beyond its four is lost: the counts are lower bounds where a table was full.
 */
#ifndef IOLENS_REDUCE_H
#define IOLENS_REDUCE_H

#include <stdbool.h>

#include "frequencies.h"
#include "schema.h"
#include "reduce_plan.h"

/* Count, sum, and sum of squared deviations from the mean. */
struct reduce_moments {
	double n, sum, deviation;
};

/* Tables of frequent values in a record that are merged exactly; values that are kept of each: 4 KiB, 1 MiB. */
enum { REDUCE_COMMON = 2, REDUCE_MOST_OF_RANKS = 256, REDUCE_MOST_OF_TOTALS = 65536 };

/* Kept beside a record while it is merged. */
struct reduce_state {
	struct reduce_moments time, bytes;
	uint32_t most;                        /* values to keep beside the record, 0 = none */
	struct common *common[REDUCE_COMMON]; /* by table, once there are more than four; freed by reduce_end */
};

/* Makes a rank's record an operand: fastest and slowest become this rank. A record of rank -1 keeps its own. */
void reduce_begin(const struct schema_module *m, void *record, struct reduce_state *s);

/* The same of a record that is itself made of `ranks` ranks' records: rank -1, with its variances. */
void reduce_begin_shared(const struct schema_module *m, const void *record, struct reduce_state *s, int64_t ranks);

/* into := into + from; from and its state stay. */
void reduce_merge(const struct schema_module *m, void *into, struct reduce_state *is, const void *from,
		  const struct reduce_state *fs);

/* The same with a rank's record as it is, not begun; its own rank does not count. */
void reduce_merge_rank(const struct schema_module *m, void *into, struct reduce_state *is, const void *from,
		       int64_t rank);

/* Stores the variances and makes the record shared: rank -1. */
void reduce_end(const struct schema_module *m, void *record, struct reduce_state *s);

/* The first part of reduce_end, for records that stay what they are: what was kept beside the record goes into its tables. */
void reduce_choose(const struct schema_module *m, void *record, struct reduce_state *s);

/* Frees what a state that is not ended keeps. */
void reduce_forget(struct reduce_state *s);

/* Puts the times of a record that is about to be stored on the grid that logs keep: see precision.h. */
void reduce_to_grid(const struct schema_module *m, void *record);

/* A module's total. `record` has the size of the module's plain record. */
struct reduce_total {
	bool used;
	bool several_files; /* then no rank is fastest or slowest */
	struct reduce_state state;
};

/* scratch: a second record's worth of memory. */
void reduce_total_add(const struct schema_module *m, struct reduce_total *t, void *record, const void *one,
		      void *scratch);

/* After the last record, before the total is read. */
void reduce_total_end(const struct schema_module *m, struct reduce_total *t, void *record);

/* Seconds and bytes of a record by the roles of its fields. */
double reduce_io_time(const struct schema_module *m, const void *record);
int64_t reduce_bytes(const struct schema_module *m, const void *record);

/* What most tables ask for, of one record. */
struct reduce_sums {
	int64_t opens, reads, writes, bytes_read, bytes_written;
	double read_time, write_time, meta_time;
};

void reduce_sums(const struct schema_module *m, const void *record, struct reduce_sums *s);

#endif
