/*
 * One record out of several: ranks' records of a shared file, or all records of a module. Driven by the schema's reduce
 * rules; serves the runtime, the assembly of job logs and `show --total`. No memory is allocated.
 *
 *	reduce_begin(m, a, &sa); reduce_begin(m, b, &sb);
 *	reduce_merge(m, a, &sa, b, &sb);	any order, any grouping
 *	reduce_end(m, a, &sa);
 *
 * The common-value tables keep four entries at every step, so their merge depends on the order.
 */
#ifndef IOLENS_REDUCE_H
#define IOLENS_REDUCE_H

#include <stdbool.h>

#include "schema.h"

/* Count, sum, and sum of squared deviations from the mean. */
struct reduce_moments {
	double n, sum, deviation;
};

/* Kept beside a record while it is merged. */
struct reduce_state {
	struct reduce_moments time, bytes;
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
void reduce_end(const struct schema_module *m, void *record, const struct reduce_state *s);

/* A module's total. `record` has the size of the module's plain record. */
struct reduce_total {
	bool used;
	bool several_files; /* then no rank is fastest or slowest */
	struct reduce_state state;
};

/* scratch: a second record's worth of memory. */
void reduce_total_add(const struct schema_module *m, struct reduce_total *t, void *record, const void *one,
		      void *scratch);

/* Seconds and bytes of a record by the roles of its fields. */
double reduce_io_time(const struct schema_module *m, const void *record);
int64_t reduce_bytes(const struct schema_module *m, const void *record);

/* What most tables ask for, of one record. */
struct reduce_sums {
	int64_t opens, reads, writes, bytes_read, bytes_written;
	double read_time, write_time, meta_time;
};

void reduce_sums(const struct schema_module *m, const void *record, struct reduce_sums *s);

/* Sum of the integer counters with that role, 0 if the module has none. */
int64_t reduce_i64(const struct schema_module *m, const void *record, enum field_role role);
double reduce_f64(const struct schema_module *m, const void *record, enum field_role role);

#endif
