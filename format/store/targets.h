/* Of the Lustre mounts of a job: how many targets they have, and which servers these belong to, as the client says in /sys or /proc. */
#ifndef IOLENS_TARGETS_H
#define IOLENS_TARGETS_H

#include "trailer.h"

struct targets {
	struct trailer_section *volume, *target; /* get the rows */
};

/* `mounted`: a table of mounts with their sources. */
int targets_add(struct targets *to, const struct trailer_section *mounted);

#endif
