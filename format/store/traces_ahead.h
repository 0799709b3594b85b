/*
 * What a rank can do ahead for its trace in the log of its MPI job, while the others do the same: its segments are compressed
 * and its accesses encoded. A file beside the store (precompressed.h makes it).
 */
#ifndef IOLENS_TRACES_AHEAD_H
#define IOLENS_TRACES_AHEAD_H

#include "alloc.h"
#include "error.h"
#include "store_reader.h"
#include "written.h"

enum traces_ahead_part { TRACES_AHEAD_SEGMENTS, TRACES_AHEAD_ACCESSES, TRACES_AHEAD_PARTS };

struct traces_ahead {
	char magic[8];
	uint64_t used;    /* bytes of the store's trace when it was read */
	uint64_t missing; /* bits of modules whose accesses are not all there */
	struct {
		uint64_t offset, stored; /* in the file */
	} part[TRACES_AHEAD_PARTS][TRACE_COUNT];
};

#define TRACES_AHEAD_SUFFIX ".traces"
#define TRACES_AHEAD_MAGIC  "ahead 1"

/* False when there is none, or the store has changed since. */
bool traces_ahead_load(struct traces_ahead *t, const struct store_reader *i, const char *path);

/* Instead of what is in `out`. */
int traces_ahead_read(const struct traces_ahead *t, const char *path, enum traces_ahead_part part, int interface,
		      struct log_bytes *out);

#endif
