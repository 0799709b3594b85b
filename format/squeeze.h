/*
 * Deflate for records. Neighbouring records of a module differ in a few counters: what is equal to the record before is a
 * match at that distance, runs of zeros are matches at distance 1, a number that was seen shortly before is one too, the rest
 * are literals. Hardly a search, hence several times as fast as zlib, with about the same result. The output is one zlib
 * stream.
 */
#ifndef IOLENS_SQUEEZE_H
#define IOLENS_SQUEEZE_H

#include <stdbool.h>

#include "alloc.h"
#include "huffman.h"

enum {
	SQUEEZE_LENGTHS = 286,
	SQUEEZE_DISTANCES = 30,
	SQUEEZE_TOKENS = 16384,
	SQUEEZE_WINDOW = 65536,
	SQUEEZE_SEEN = 4096
};

struct squeeze {
	struct log_bytes out; /* take from it between calls as much as pleases: set used to 0 */
	struct bit_sink sink;
	bool begun;
	uint32_t ones, sums; /* Adler-32 */
	uint32_t used, last; /* of the window; where its last record begins */
	uint32_t tokens;
	uint32_t lengths[SQUEEZE_LENGTHS];
	uint32_t distances[SQUEEZE_DISTANCES];
	uint32_t token[SQUEEZE_TOKENS]; /* a byte, or length << 16 | distance */
	uint32_t base;                  /* bytes that are no longer in the window */
	uint32_t seen[SQUEEZE_SEEN];    /* where a number was, by its hash: base + place in the window + 1 */
	uint8_t window[SQUEEZE_WINDOW];
};

/* NULL: no memory. */
struct squeeze *squeeze_make(void);
void squeeze_free(struct squeeze *s);

/* 0 or LOG_E_MEMORY. */
int squeeze_add(struct squeeze *s, const void *record, size_t n);

/* Ends the stream; the next record begins another one. */
int squeeze_end(struct squeeze *s);

#endif
