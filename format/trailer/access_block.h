/* What accesses.c and accesses_read.c both know of a block. */
#ifndef IOLENS_ACCESS_BLOCK_H
#define IOLENS_ACCESS_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Of a row: offset, length, time since the last access ended, duration, thread. */
enum { ACCESS_WORDS = 5 };

static const bool access_no_reals[ACCESS_WORDS];

struct access_units {
	bool regular;    /* offsets are counted from the end of the access before, else from 0 in units of `offset` */
	uint64_t offset; /* which all offsets are multiples of */
	uint64_t length; /* and all lengths */
};

#endif
