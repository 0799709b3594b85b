/*
 * The four most frequent values of a record: the top four, by frequency and then by value, among the
 * first 32 distinct ones. The value 0 takes part but is never shown.
 */
#ifndef IOLENS_FREQUENT_H
#define IOLENS_FREQUENT_H

#include <stdint.h>

enum { FREQUENT_DISTINCT = 32, FREQUENT_SHOWN = 4 };

struct frequent {
	uint8_t used;
	uint8_t room;
	uint8_t latest; /* where the last value was: the next one is mostly the same */
	int64_t *value;
	int64_t *count;
};

void frequent_miss(struct frequent *f, int64_t v, int64_t *shown, int64_t *shown_count);
void frequent_show(int64_t v, int64_t count, int64_t *shown, int64_t *shown_count);

/* The value that was added last, `more` times more. */
void frequent_repeat(struct frequent *f, int64_t more, int64_t *shown, int64_t *shown_count);

static inline void frequent_add(struct frequent *f, int64_t v, int64_t *shown, int64_t *shown_count)
{
	if (__builtin_expect(!f->used || f->value[f->latest] != v, 0)) {
		frequent_miss(f, v, shown, shown_count);
		return;
	}
	int64_t count = ++f->count[f->latest];
	if (!v)
		return;
	if (shown[0] == v)
		shown_count[0] = count;
	else
		frequent_show(v, count, shown, shown_count);
}

#endif
