/*
 * Deflate for records. Neighbouring records of a module differ in a few counters: what is equal to the record before is a
 * match at that distance, runs of zeros are matches at distance 1, a number that was seen shortly before is one too, and so are
 * the upper bytes of one that is close to others, such as a point in time; the rest are literals. Hardly a search, hence several times as fast as zlib, with about the same result. The output is one zlib
 * stream.
 */
#ifndef IOLENS_DEFLATER_H
#define IOLENS_DEFLATER_H

#include <stdbool.h>

#include "alloc.h"
#include "huffman.h"

enum {
	DEFLATER_LENGTHS = 286,
	DEFLATER_DISTANCES = 30,
	DEFLATER_TOKENS = 16384,
	DEFLATER_WINDOW = 65536,
	DEFLATER_SEEN = 4096,
	DEFLATER_LIKE = 256
};

struct deflater {
	struct log_bytes out; /* take from it between calls as much as pleases: set used to 0 */
	struct bit_sink sink;
	bool begun;
	uint32_t ones, sums; /* Adler-32 */
	uint32_t used, last; /* of the window; where its last record begins */
	uint32_t tokens;
	uint32_t lengths[DEFLATER_LENGTHS];
	uint32_t distances[DEFLATER_DISTANCES];
	uint32_t token[DEFLATER_TOKENS]; /* a byte, or length << 16 | distance */
	uint32_t base;                   /* bytes that are no longer in the window */
	uint32_t seen[DEFLATER_SEEN];    /* where two numbers were, by their hash: base + place in the window + 1 */
	uint32_t like[DEFLATER_LIKE];    /* the same of the upper bytes of a number */
	uint32_t number, far;            /* the last one looked up there, and how far before it the other one was */
	uint32_t pair, pair_back;        /* the same of two numbers in `seen` */
	uint8_t window[DEFLATER_WINDOW];
};

/* NULL: no memory. */
struct deflater *deflater_make(void);
void deflater_free(struct deflater *s);

/* 0 or LOG_E_MEMORY. */
int deflater_add(struct deflater *s, const void *record, size_t n);

/* Ends the stream; the next record begins another one. */
int deflater_end(struct deflater *s);

#endif
