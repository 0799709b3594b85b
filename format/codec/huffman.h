/* The entropy coding of deflate (RFC 1951): lengths of codes from counts. */
#ifndef IOLENS_HUFFMAN_H
#define IOLENS_HUFFMAN_H

#include <stdint.h>

#include "bits.h"

enum { HUFFMAN_SYMBOLS = 288, HUFFMAN_LONGEST = 15 };

struct huffman_code {
	uint16_t bits[HUFFMAN_SYMBOLS]; /* first bit lowest */
	uint8_t length[HUFFMAN_SYMBOLS];
};

/* The best lengths up to `longest`; a symbol that does not occur has length 0. At least two symbols get a code. */
void huffman_make(struct huffman_code *c, const uint32_t *count, int symbols, int longest);

/* The last `length` bits the other way round: as deflate wants codes. */
uint16_t huffman_turned(uint32_t code, int length);

/* Codes for the lengths that are in c. */
void huffman_assign(struct huffman_code *c, int symbols);

#endif
