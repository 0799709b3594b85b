/* What the processes of a scheduler's job have left on this node: the stores of programs that ran without `iolens run`. */
#ifndef IOLENS_JOB_STORES_H
#define IOLENS_JOB_STORES_H

#include <stdint.h>

#include "recovery.h"

struct job_stores {
	struct recovery of;  /* whose processes have ended */
	size_t running;      /* the others */
	size_t without_file; /* of `of`: the process ended before it had opened a file */
};

/* Of this user alone, in directories that no other user can write to. Returns 0, or an exit code, the reason printed. */
int job_stores_find(struct job_stores *s, int64_t job);

#endif
