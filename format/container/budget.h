/* What reading a log may take: a log of some megabytes may unpack to many gigabytes. */
#ifndef IOLENS_BUDGET_H
#define IOLENS_BUDGET_H

#include "error.h"

/* Bytes for each stored one: a record of a file that was used has at least some doubles that compress badly. */
enum { BUDGET_RATIO = 32 };

/* *out = the size that IOLENS_MEMORY has (bytes, or with K, M, G, T), `usual` where it is not set. LOG_E_USAGE = no size. */
int budget_spare(uint64_t *out, uint64_t usual, struct log_error *err);

/* Beside the spare, BUDGET_RATIO bytes for each of those stored. */
uint64_t budget_for(uint64_t spare, uint64_t stored);

#endif
