/*
 * A table of 64-bit words, column by column, each in the way that takes the least bits (docs/reference/extension-trailer.md).
 * The rows of a table may come in groups of equal length, such as the operations of one rank after the other: then a column
 * takes the n-th row of every group.
 */
#ifndef IOLENS_COLUMNS_H
#define IOLENS_COLUMNS_H

#include <stdbool.h>

#include "alloc.h"

enum {
	COLUMNS_TILE = 64,
	COLUMNS_GROUP = 64, /* rows of a group at most */
	COLUMNS_BACK = 64,  /* how far the column may be that another one is compared with */
	COLUMNS_UNARY = 32, /* a quotient as large as this: the number follows as it is */
	SCALE_FIRST = 20,
	SCALE_NONE = 63, /* doubles as they are, not multiples of a power of 1/2 */
};

/* What is stored instead of a number. */
enum column_from {
	FROM_ZERO,   /* itself */
	FROM_BEFORE, /* difference to the row before */
	FROM_STEP,   /* difference to what it would be if the last step were made once more */
	FROM_COLUMN, /* difference to an earlier column */
};

enum column_code {
	CODE_SAME,        /* all are equal */
	CODE_WIDTH,       /* of fixed width, above the smallest */
	CODE_RICE,        /* quotient by 2^k in unary, and rest, above the smallest */
	CODE_SIGNED_RICE, /* the same of the zigzag difference to the middle */
	CODE_LENGTH,      /* number of bits, and of those the highest */
	CODE_RARE, /* all are equal but for some: how far each is from the one before, and by how much it differs */
	CODES
};

/* rows: n times `width` words. real[w]: word w of a row is a double. Returns 0 or LOG_E_MEMORY. */
int columns_write(struct log_bytes *out, const uint64_t *rows, uint64_t n, uint32_t width, const bool *real);

/* Fills rows; 0, LOG_E_DAMAGED or LOG_E_MEMORY. */
int columns_read(const uint8_t *at, size_t size, uint64_t *rows, uint64_t n, uint32_t width, const bool *real);

/* One row: scales, and then a number for each word. */
int columns_write_row(struct log_bytes *out, const uint64_t *row, uint32_t width, const bool *real);
int columns_read_row(const uint8_t *at, size_t size, uint64_t *row, uint32_t width, const bool *real);

static inline uint64_t zigzag(uint64_t x)
{
	return x << 1 ^ (uint64_t)((int64_t)x >> 63);
}

static inline uint64_t unzigzag(uint64_t x)
{
	return x >> 1 ^ -(x & 1);
}

static inline unsigned bit_length(uint64_t x)
{
	return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

#endif
