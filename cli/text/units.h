/* Numbers for people. */
#ifndef IOLENS_UNITS_H
#define IOLENS_UNITS_H

#include <stdint.h>

enum { UNITS_TEXT = 32 };

/* 1.2 GiB */
char *units_bytes(char text[UNITS_TEXT], double bytes);
/* 1,234,567 */
char *units_count(char text[UNITS_TEXT], int64_t n);
/* 12.3 ms */
char *units_seconds(char text[UNITS_TEXT], double seconds);

#endif
