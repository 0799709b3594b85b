/* What a job does to its files. */
#ifndef FLEETGEN_SHAPE_H
#define FLEETGEN_SHAPE_H

#include <stddef.h>

#include "dice.h"
#include "population.h"
#include "use.h"

struct uses {
	struct use *list;
	size_t n, room;
};

/* The files of one log of a job, about `files` of them on average over jobs, `most` at most but for the papers' examples. */
void shape_job(struct uses *out, const struct population *p, const struct job *j, struct dice *d, double files,
	       int most);

#endif
