/* Names of ranges as names of phases. */
#ifndef IOLENS_RANGES_NAME_H
#define IOLENS_RANGES_NAME_H

#include <wchar.h>

enum { RANGE_NAME = 64 }; /* bytes, with the end: what a phase keeps */

/* Behind `prefix`, and a number that is a word is "#": "iter 12" and "iter 13" are one phase, "conv2d" stays. */
void range_name(char out[RANGE_NAME], const char *prefix, const char *text);
void range_name_wide(char out[RANGE_NAME], const char *prefix, const wchar_t *text);

#endif
