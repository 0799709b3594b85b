/*
 * Zlib streams one behind the other (RFC 1950 and 1951), from a file to pieces of memory: at the speed of libraries that want
 * room for everything at once, without that room. It knows two answers: the bytes, or "not here". Whatever is
 * damaged or unusual is for zlib, whose word on it counts.
 */
#ifndef IOLENS_INFLATE_H
#define IOLENS_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source.h"

enum {
	INFLATE_WINDOW = 32768, /* how far back a stream may refer */
	INFLATE_SLACK = 512,    /* what may be written behind the end of a piece */
	INFLATE_ENDS = 64,      /* streams that may end in a piece */
};

/* Output: bytes[-INFLATE_WINDOW..0) is of the pieces before, room + INFLATE_SLACK can be written. */
struct inflate_piece {
	uint8_t *bytes;
	size_t room, used;
	size_t nends;
	struct {
		size_t at;
		uint32_t sum; /* Adler-32 that the stream must have */
	} ends[INFLATE_ENDS];
};

struct inflate;

/* NULL: no memory. The source must stay. */
struct inflate *inflate_open(const struct source *source, uint64_t offset, uint64_t length);
void inflate_close(struct inflate *z);

/* Fills a piece. 1 = there is more, 0 = that was all, negative = not to be had here. Sums are the caller's to check. */
int inflate_next(struct inflate *z, struct inflate_piece *piece);

/* Continues an Adler-32, which begins as 1. */
uint32_t inflate_sum(uint32_t sum, const uint8_t *bytes, size_t n);

#endif
