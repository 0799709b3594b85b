/* A job's rates compared with what `iolens peak` has measured on its file systems. */
#ifndef IOLENS_BESIDE_PEAK_H
#define IOLENS_BESIDE_PEAK_H

#include <stdio.h>

#include "digest.h"
#include "json.h"
#include "saved_peak.h"

enum { BESIDE_MOST = 8 };

struct beside_row {
	struct saved_peak peak;
	int64_t bytes[2];  /* of the job there, by io_op */
	double seconds[2]; /* in its calls, summed over processes */
};

struct beside {
	size_t n;
	struct beside_row row[BESIDE_MOST];
};

/* Mounts of the log that have a peak; those of a disk only where the job ran on this host. */
void beside_find(struct beside *b, const struct digest *d);

/* Nothing where there is none. */
void beside_print(FILE *out, const struct beside *b);
void beside_json(struct json *j, const struct beside *b);

#endif
