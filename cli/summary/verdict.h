/* Whether I/O is what makes a run slow, in one line. */
#ifndef IOLENS_VERDICT_H
#define IOLENS_VERDICT_H

#include "digest.h"
#include "json.h"

enum { VERDICT_TEXT = 640 };

struct verdict {
	const char *level;       /* problem, look, good or unknown, at the shares of the report's own verdict */
	double share;            /* of the run time in I/O; negative: not known */
	bool estimated;          /* from counters: such logs do not hold how long a rank was in I/O */
	char text[VERDICT_TEXT]; /* safe for a terminal */
};

/* Measured: a union over threads and processes, for an MPI job that of the rank which is longest in I/O. Else estimated. */
void verdict_of(const struct digest *d, struct verdict *v);

void verdict_json(struct json *j, const struct verdict *v);

#endif
