/*
 * The four most frequent values of a record, or access patterns: the top four, by frequency and then by value (bytes),
 * among the first 32 distinct ones. The value 0 (a pattern of 0 bytes) takes part but is never shown.
 */
#ifndef IOLENS_FREQUENT_H
#define IOLENS_FREQUENT_H

#include <stdbool.h>
#include <stdint.h>

enum { FREQUENT_DISTINCT = 32, FREQUENT_SHOWN = 4 };

struct frequent_value {
	int64_t value, count;
};

struct frequent {
	struct frequent_value *each;
	uint8_t used;
	uint8_t room;
	uint8_t latest; /* the value that was looked for last */
	uint8_t first;  /* the first of those shown: it is counted there, and here before another value is */
	bool zero;      /* 0 has its place, or found none: no more is to be known of it */
};

/* `times` more of a value. */
void frequent_count(struct frequent *f, int64_t v, int64_t times, int64_t *shown, int64_t *shown_count);

/* True if one more of it is counted without a look at the others. */
static inline bool frequent_is_usual(const struct frequent *f, int64_t v, const int64_t *shown)
{
	return v ? v == shown[0] : f->zero;
}

/* The same where it is likely the most frequent one. */
static inline void frequent_add_all(struct frequent *f, int64_t v, int64_t times, int64_t *shown, int64_t *shown_count)
{
	if (__builtin_expect(!frequent_is_usual(f, v, shown), 0))
		frequent_count(f, v, times, shown, shown_count);
	else
		shown_count[0] += v ? times : 0;
}

static inline void frequent_add(struct frequent *f, int64_t v, int64_t *shown, int64_t *shown_count)
{
	frequent_add_all(f, v, 1, shown, shown_count);
}

/* ---- patterns ---- */

enum { PATTERN_DIMENSIONS = 5, PATTERN_VALUES = 1 + 2 * PATTERN_DIMENSIONS, PATTERNS_SHOWN = 4 };

/* Bytes, and by dimension the number of elements and the stride. */
struct pattern {
	int64_t bytes;
	int64_t length[PATTERN_DIMENSIONS], stride[PATTERN_DIMENSIONS];
};

struct pattern_counted {
	struct pattern pattern;
	int64_t count;
	bool shaped; /* it has a length or a stride */
};

struct patterns {
	int used, room, latest;
	int first; /* 1 + which is the first of those shown, 0 = none is */
	struct pattern_counted *each;
};

void patterns_miss(struct patterns *p, const struct pattern *one, int64_t *shown, int64_t *shown_count);
void patterns_show(struct patterns *p, const struct pattern_counted *c, int64_t *shown, int64_t *shown_count);

/* One more of the pattern that was added last. */
static inline void patterns_again(struct patterns *p, struct pattern_counted *latest, int64_t *shown,
				  int64_t *shown_count)
{
	latest->count++;
	if (__builtin_expect(p->first == 1 + p->latest, 1))
		shown_count[0] = latest->count;
	else
		patterns_show(p, latest, shown, shown_count);
}

static inline bool pattern_is(const struct pattern *one, const struct pattern *other)
{
	int64_t differ = one->bytes ^ other->bytes;
#pragma GCC unroll 5
	for (int i = 0; i < PATTERN_DIMENSIONS; i++)
		differ |= (one->length[i] ^ other->length[i]) | (one->stride[i] ^ other->stride[i]);
	return !differ;
}

/* shown: of the record, PATTERNS_SHOWN patterns of PATTERN_VALUES values. */
static inline void patterns_add(struct patterns *p, const struct pattern *one, int64_t *shown, int64_t *shown_count)
{
	struct pattern_counted *latest = &p->each[p->latest];
	if (p->used && pattern_is(&latest->pattern, one))
		patterns_again(p, latest, shown, shown_count);
	else
		patterns_miss(p, one, shown, shown_count);
}

/* The same for a pattern that has bytes alone. */
static inline void patterns_add_bytes(struct patterns *p, int64_t bytes, int64_t *shown, int64_t *shown_count)
{
	struct pattern_counted *latest = &p->each[p->latest];
	if (p->used && latest->pattern.bytes == bytes && !latest->shaped)
		patterns_again(p, latest, shown, shown_count);
	else
		patterns_miss(p, &(struct pattern){.bytes = bytes}, shown, shown_count);
}

#endif
