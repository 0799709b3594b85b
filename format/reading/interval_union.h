/*
 * Time in I/O as a union: seconds in which at least one thread (or process) was in an I/O call, which is
 * what a user waits for; the sum over threads is not.
 */
#ifndef IOLENS_INTERVAL_UNION_H
#define IOLENS_INTERVAL_UNION_H

#include <stddef.h>

#include "process_state.h"

struct interval_union {
	double total;         /* s */
	double by_op[IO_OPS]; /* s; adds up to total: shared in proportion where kinds overlap */
};

/*
 * The union of any number of segments, in any order. Exact where segments are wholly busy or do not
 * overlap; where partly busy ones (joined to save room) overlap, they are taken as independent.
 * scratch: room for 2 * n of struct interval_edge.
 */
struct interval_edge {
	double at;
	const struct state_segment *segment;
	int enters; /* 1, or -1 where it leaves */
};

struct interval_union interval_union_of(const struct state_segment *segments, size_t n, struct interval_edge *scratch);

#endif
