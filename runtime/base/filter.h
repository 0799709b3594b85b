/*
 * Include and exclude filters. Regular expressions are POSIX extended, unanchored, compiled when the
 * process starts; which names they hit is remembered by record id, so that only the first open of an
 * excluded file pays for them.
 */
#ifndef IOLENS_FILTER_H
#define IOLENS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

struct filter_rule;

/* A list of rules; empty when zero. */
struct filter {
	struct filter_rule *rules;
};

struct filter_pair {
	struct filter exclude;
	struct filter include; /* rescues what an exclusion hit */
};

/* Adds comma-separated expressions for the modules of `modules` (bit per id). Returns what is wrong, or NULL. */
const char *filter_add(struct filter *f, const char *expressions, uint32_t modules);

/* Adds comma-separated numbers and ranges: `*`, `n`, `a:b`, either end optional. Returns what is wrong, or NULL. */
const char *filter_add_ranges(struct filter *f, const char *ranges);

bool filter_hits(const struct filter *f, int module, const char *text);
bool filter_hits_number(const struct filter *f, int64_t n);

/* True when the pair leaves the text out. */
bool filter_leaves_out(const struct filter_pair *p, int module, const char *text);

#endif
