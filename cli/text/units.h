/* Numbers for people. */
#ifndef IOLENS_UNITS_H
#define IOLENS_UNITS_H

#include <stdint.h>

enum { UNITS_TEXT = 32, UNITS_COUNTED = 96 };

/* 1.2 GiB */
char *units_bytes(char text[UNITS_TEXT], double bytes);
/* 1,234,567 */
char *units_count(char text[UNITS_TEXT], int64_t n);
/* 1 process, 2,345 processes: the noun is given for one. */
char *units_counted(char text[UNITS_COUNTED], int64_t n, const char *noun);
char *units_plural(char text[UNITS_COUNTED], const char *noun);
#define COUNTED(n, noun) units_counted((char[UNITS_COUNTED]){0}, (int64_t)(n), noun)
/* The word that agrees with the number: is, are. */
const char *units_agree(int64_t n, const char *one, const char *more);
/* 9.4 % of a share of 0.094, 94 % of 0.94; less than 0.1 % */
char *units_percent(char text[UNITS_TEXT], double share);
/* 12.3 ms */
char *units_seconds(char text[UNITS_TEXT], double seconds);

#endif
