/* The entropy coding of deflate (RFC 1951): lengths of codes from counts, and bits on their way out. */
#ifndef IOLENS_HUFFMAN_H
#define IOLENS_HUFFMAN_H

#include <stdint.h>

#include "alloc.h"

enum { HUFFMAN_SYMBOLS = 288, HUFFMAN_LONGEST = 15 };

struct huffman_code {
	uint16_t bits[HUFFMAN_SYMBOLS]; /* first bit lowest */
	uint8_t length[HUFFMAN_SYMBOLS];
};

/* The best lengths up to `longest`; a symbol that does not occur has length 0. At least two symbols get a code. */
void huffman_make(struct huffman_code *c, const uint32_t *count, int symbols, int longest);

/* Codes for the lengths that are in c. */
void huffman_assign(struct huffman_code *c, int symbols);

struct bit_sink {
	struct log_bytes *out; /* with room for what comes */
	uint64_t bits;
	unsigned held;
};

/* At most 32 bits. */
static inline void bits_put(struct bit_sink *s, uint32_t bits, unsigned n)
{
	s->bits |= (uint64_t)bits << s->held;
	s->held += n;
	if (s->held < 32)
		return;
	for (int k = 0; k < 4; k++)
		s->out->at[s->out->used + (size_t)k] = (uint8_t)(s->bits >> 8 * k);
	s->out->used += 4;
	s->bits >>= 32;
	s->held -= 32;
}

/* Fills the last byte with zeros. */
static inline void bits_end(struct bit_sink *s)
{
	for (; s->held; s->held = s->held > 8 ? s->held - 8 : 0) {
		s->out->at[s->out->used++] = (uint8_t)s->bits;
		s->bits >>= 8;
	}
}

#endif
