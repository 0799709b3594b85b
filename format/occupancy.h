/*
 * Time in I/O as a union: seconds in which at least one thread (or process) was in an I/O call, which is
 * what a user waits for; the sum over threads is not.
 */
#ifndef IOLENS_OCCUPANCY_H
#define IOLENS_OCCUPANCY_H

#include <stddef.h>

#include "live.h"

struct occupancy {
	double total;               /* s */
	double by_kind[LIVE_KINDS]; /* s; adds up to total: shared in proportion where kinds overlap */
};

/*
 * The union of any number of segments, in any order. Exact where segments are wholly busy or do not
 * overlap; where partly busy ones (joined to save room) overlap, they are taken as independent.
 * scratch: room for 2 * n of struct occupancy_edge.
 */
struct occupancy_edge {
	double at;
	const struct live_segment *segment;
	int enters; /* 1, or -1 where it leaves */
};

struct occupancy occupancy_union(const struct live_segment *segments, size_t n, struct occupancy_edge *scratch);

#endif
