/*
 * Texts of small tables as bits: words of the dictionary, copies of what was there before, and letters, of which the usual ones are
 * short (docs/reference/extension-trailer.md).
 */
#ifndef IOLENS_TEXT_CODE_H
#define IOLENS_TEXT_CODE_H

#include "string_table.h"

/* Their length in bytes, then these. */
int text_code_write(struct log_bytes *out, const struct word *text, size_t n);

/* Appends n texts to `out`, `limit` bytes at most; where each begins there and its length go into place. LOG_OK or a code. */
int text_code_read(struct cut *from, size_t n, struct log_bytes *out, struct string_place *place, size_t limit);

#endif
