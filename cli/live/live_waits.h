/* Calls that are seen again and again: since when a thread waits in one and the same. */
#ifndef IOLENS_LIVE_WAITS_H
#define IOLENS_LIVE_WAITS_H

#include "json.h"
#include "live_calls.h"

struct live_wait {
	struct live_call call; /* its process is that of the last look */
	int64_t done;          /* calls of its process that had ended */
	double seen;           /* s, of the monotonic clock: first seen */
	double least;          /* s that it has lasted at least, */
	double most;           /* and at most */
	bool told;             /* by who watches */
};

struct live_waits {
	struct live_wait *waits; /* the longest first */
	size_t n;
	size_t threads, denied, running;
};

/* What waits now; what `w` knew of the same calls is kept. The process of each is that of `j`. False: no memory. */
bool live_waits_update(struct live_waits *w, const struct live_job *j, const struct live_look *look);
void live_waits_free(struct live_waits *w);

/* "rank 3 (process 123 on node7) waits in write of /mnt/out (descriptor 5), 61 s: ..." `stall`: say that it is one. */
void live_wait_print(FILE *out, const struct live_wait *w, bool stall);
void live_wait_json(struct json *j, const struct live_wait *w, bool stall);

#endif
