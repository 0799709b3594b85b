/*
 * The four most frequent access patterns of a record: bytes, and by dimension the number of elements and the stride. Chosen
 * among the first 32 distinct ones, by frequency and then by bytes; one of 0 bytes is never shown.
 */
#ifndef IOLENS_H5D_PATTERNS_H
#define IOLENS_H5D_PATTERNS_H

#include <stdint.h>

enum { PATTERN_DIMENSIONS = 5, PATTERN_VALUES = 1 + 2 * PATTERN_DIMENSIONS, PATTERNS_SHOWN = 4 };

struct pattern {
	int64_t bytes;
	int64_t length[PATTERN_DIMENSIONS], stride[PATTERN_DIMENSIONS];
};

struct pattern_counted {
	struct pattern pattern;
	int64_t count;
};

struct patterns {
	int used, room, latest;
	struct pattern_counted *each;
};

/* shown: of the record, PATTERNS_SHOWN patterns of PATTERN_VALUES values. */
void patterns_add(struct patterns *p, const struct pattern *one, int64_t *shown, int64_t *shown_count);

#endif
