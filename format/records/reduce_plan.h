/* What reduce.c does to the records of one module, worked out once from its fields: runs of neighbours of the same kind. */
#ifndef IOLENS_REDUCE_PLAN_H
#define IOLENS_REDUCE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "precision.h"
#include "schema.h"

enum reduce_op {
	OP_NONE,
	OP_SUM,
	OP_SUM_F64,
	OP_SUM_OR_MISSING,
	OP_MAX,
	OP_MAX_F64,
	OP_MIN_NONZERO,
	OP_MIN_NONZERO_F64,
	OP_FIRST,
	OP_FIRST_F64,
	OP_ANY,
	OP_TOP4, /* the counts; the values are at `leader` */
};

/* n cells from byte `at` on. */
struct reduce_run {
	uint8_t op;
	uint16_t at, n, leader;
};

/* A counter that comes from the operand that its leader comes from. */
struct reduce_follower {
	uint16_t at, n, leader;
	bool f64; /* the leader is one */
};

/* Fastest or slowest: offsets of three fields of one role. */
struct reduce_extreme {
	bool whole;
	uint16_t rank, bytes, time;
};

/* Offsets of the integers of one role. */
struct reduce_role {
	uint8_t n;
	uint16_t at[15];
};

/* n neighbouring times from byte `at` on. */
struct reduce_times {
	uint16_t at, n;
	enum precision kept;
};

enum { REDUCE_RUNS = 32, REDUCE_FOLLOWERS = 8, REDUCE_VARIANCES = 4, REDUCE_TIMES = 16 };

struct reduce_plan {
	struct reduce_role opens, copies, reads, writes, read_bytes, written_bytes;
	struct reduce_role times[3]; /* read, write, meta: one each, or none */
	struct reduce_extreme fastest, slowest;
	uint16_t nruns, nfollowers, nvariances, nclocked;
	struct reduce_follower follower[REDUCE_FOLLOWERS];
	struct {
		uint16_t at;
		bool bytes; /* of bytes, not of times */
	} variance[REDUCE_VARIANCES];
	struct reduce_times clocked[REDUCE_TIMES];
	struct reduce_run run[REDUCE_RUNS];
};

/* `room` is for the one that is still being worked out by another thread. */
const struct reduce_plan *reduce_plan(const struct schema_module *m, struct reduce_plan *room);

/* The opens that were made: those of the record less its copies (dup, fileno). */
int64_t reduce_opens(const struct schema_module *m, const void *record);

/* Sum of the integer counters with that role, 0 if the module has none. */
int64_t reduce_i64(const struct schema_module *m, const void *record, enum field_role role);
double reduce_f64(const struct schema_module *m, const void *record, enum field_role role);

#endif
