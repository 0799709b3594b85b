/*
 * Lists of texts, as numbers of words (dictionary.h), as what they do not share with the text before, or as they are
 * (docs/reference/extension-trailer.md).
 */
#ifndef IOLENS_STRING_TABLE_H
#define IOLENS_STRING_TABLE_H

#include <stdbool.h>

#include "alloc.h"
#include "dictionary.h"

/* What is left of some bytes. */
struct cut {
	const uint8_t *at, *end;
};

/* A whole number, seven bits a byte, the lowest first; LOG_E_DAMAGED when there is none. */
int cut_number(struct cut *from, uint64_t *number);
int add_number(struct log_bytes *out, uint64_t number);

int string_table_write(struct log_bytes *out, const struct word *text, size_t n);

/* Reads n texts and appends them to `out`; where each begins and its length go into place, unless that is NULL. */
struct string_place {
	uint32_t at, length;
};

int string_table_read(struct cut *from, size_t n, struct log_bytes *out, struct string_place *place, size_t limit);

#endif
