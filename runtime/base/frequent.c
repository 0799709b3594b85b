#include "frequent.h"

#include <string.h>

#include "arena.h"

enum { FEW = 4 };

static bool before(int64_t v, int64_t count, int64_t other, int64_t other_count)
{
	return count != other_count ? count > other_count : v > other;
}

/*
 * Puts the value with its new count where it belongs among those shown. A thread that jumps away leaves none with another one's
 * count: the first is added to without a look at the others.
 */
static void show(int64_t v, int64_t count, int64_t *shown, int64_t *shown_count)
{
	int at = 0;
	while (at < FREQUENT_SHOWN - 1 && !(shown[at] == v && shown_count[at]))
		at++;
	if (shown[at] != v && shown_count[at] && !before(v, count, shown[at], shown_count[at]))
		return;
	for (; at > 0 && (!shown_count[at - 1] || before(v, count, shown[at - 1], shown_count[at - 1])); at--) {
		shown[at] = shown[at - 1];
		shown_count[at] = shown_count[at - 1];
	}
	shown[at] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	shown_count[at] = count;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	shown[at] = v;
}

static bool make_room(struct frequent *f)
{
	int room = f->room ? FREQUENT_DISTINCT : FEW;
	struct frequent_value *each = arena_take((size_t)room * sizeof *each);
	if (!each)
		return false;
	if (f->used)
		memcpy(each, f->each, f->used * sizeof *each);
	f->each = each;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* a thread that jumps away here leaves room that is there */
	f->room = (uint8_t)room;
	return true;
}

/* NULL: too many distinct ones, or no memory. */
static struct frequent_value *find(struct frequent *f, int64_t v)
{
	int at = f->latest;
	if (at < f->used && f->each[at].value == v)
		return &f->each[at];
	for (at = 0; at < f->used && f->each[at].value != v;)
		at++;
	if (at == f->used) {
		if (at == FREQUENT_DISTINCT || (at == f->room && !make_room(f)))
			return NULL;
		f->each[at] = (struct frequent_value){v, 0};
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		f->used++;
	}
	f->latest = (uint8_t)at;
	return &f->each[at];
}

void frequent_count(struct frequent *f, int64_t v, int64_t times, int64_t *shown, int64_t *shown_count)
{
	struct frequent_value *one = find(f, v);
	f->zero |= !v;
	if (!one || !v)
		return;
	if (f->each[f->first].value == shown[0])
		f->each[f->first].count = shown_count[0];
	one->count += times;
	show(v, one->count, shown, shown_count);
	if (shown[0] == v)
		f->first = (uint8_t)(one - f->each);
}

/* ---- patterns ---- */

_Static_assert(sizeof(struct pattern) == PATTERN_VALUES * sizeof(int64_t), "a pattern is what the record has of one");

static bool make_room_for_patterns(struct patterns *p)
{
	int room = p->room ? FREQUENT_DISTINCT : FEW;
	struct pattern_counted *each = arena_take((size_t)room * sizeof *each);
	if (!each)
		return false;
	if (p->used)
		memcpy(each, p->each, (size_t)p->used * sizeof *each);
	p->each = each;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* a thread that jumps away here leaves room that is there */
	p->room = room;
	return true;
}

/* NULL: too many distinct ones, or no memory. */
static struct pattern_counted *find_pattern(struct patterns *p, const struct pattern *one)
{
	int at = 0;
	while (at < p->used && !pattern_is(&p->each[at].pattern, one))
		at++;
	if (at == p->used) {
		if (at == FREQUENT_DISTINCT || (at == p->room && !make_room_for_patterns(p)))
			return NULL;
		bool shaped = !pattern_is(one, &(struct pattern){.bytes = one->bytes});
		p->each[at] = (struct pattern_counted){*one, 0, shaped};
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		p->used++;
	}
	p->latest = at;
	return &p->each[at];
}

static bool pattern_before(const struct pattern_counted *one, const int64_t *shown, int64_t count)
{
	return one->count != count ? one->count > count : one->pattern.bytes >= shown[0];
}

/* Puts a pattern with its new count where it belongs among those shown; true if it is the first of them now. */
static bool show_pattern(const struct pattern_counted *one, int64_t *shown, int64_t *count)
{
	const size_t size = sizeof one->pattern;
	int at = 0;
	while (at < PATTERNS_SHOWN - 1 && !(count[at] && !memcmp(&shown[at * PATTERN_VALUES], &one->pattern, size)))
		at++;
	int64_t *place = &shown[at * PATTERN_VALUES];
	if (memcmp(place, &one->pattern, size) != 0 && count[at] && !pattern_before(one, place, count[at]))
		return false;
	for (; at > 0 && (!count[at - 1] || pattern_before(one, &shown[(at - 1) * PATTERN_VALUES], count[at - 1]));
	     at--) {
		memcpy(&shown[at * PATTERN_VALUES], &shown[(at - 1) * PATTERN_VALUES], size);
		count[at] = count[at - 1];
	}
	memcpy(&shown[at * PATTERN_VALUES], &one->pattern, size);
	count[at] = one->count;
	return at == 0;
}

void patterns_show(struct patterns *p, const struct pattern_counted *c, int64_t *shown, int64_t *shown_count)
{
	int at = 1 + (int)(c - p->each), first = p->first;
	if (!c->pattern.bytes)
		return;
	if (at == first) {
		shown_count[0] = c->count;
		return;
	}
	p->first = 0; /* a thread that jumps away while they are moved */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	first = show_pattern(c, shown, shown_count) ? at : first;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	p->first = first;
}

void patterns_miss(struct patterns *p, const struct pattern *one, int64_t *shown, int64_t *shown_count)
{
	struct pattern_counted *c = find_pattern(p, one);
	if (!c)
		return;
	c->count++;
	patterns_show(p, c, shown, shown_count);
}
