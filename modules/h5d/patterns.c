#include "patterns.h"

#include <stdbool.h>
#include <string.h>

#include "arena.h"

enum { FEW = 4, DISTINCT = 32 };

_Static_assert(sizeof(struct pattern) == PATTERN_VALUES * sizeof(int64_t), "a pattern is what the record has of one");

static bool same(const struct pattern *one, const struct pattern *other)
{
	return memcmp(one, other, sizeof *one) == 0;
}

static bool make_room(struct patterns *p)
{
	int room = p->room ? DISTINCT : FEW;
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
static struct pattern_counted *find(struct patterns *p, const struct pattern *one)
{
	if (p->used && same(&p->each[p->latest].pattern, one))
		return &p->each[p->latest];
	int at = 0;
	while (at < p->used && !same(&p->each[at].pattern, one))
		at++;
	if (at == p->used) {
		if (at == DISTINCT || (at == p->room && !make_room(p)))
			return NULL;
		p->each[at] = (struct pattern_counted){*one, 0};
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		p->used++;
	}
	p->latest = at;
	return &p->each[at];
}

static bool before(const struct pattern_counted *one, const int64_t *shown, int64_t count)
{
	return one->count != count ? one->count > count : one->pattern.bytes >= shown[0];
}

/* Puts a pattern with its new count where it belongs among those shown. */
static void show(const struct pattern_counted *one, int64_t *shown, int64_t *count)
{
	const size_t size = sizeof one->pattern;
	int at = 0;
	while (at < PATTERNS_SHOWN - 1 && !(count[at] && !memcmp(&shown[at * PATTERN_VALUES], &one->pattern, size)))
		at++;
	int64_t *place = &shown[at * PATTERN_VALUES];
	if (memcmp(place, &one->pattern, size) != 0 && count[at] && !before(one, place, count[at]))
		return;
	for (; at > 0 && (!count[at - 1] || before(one, &shown[(at - 1) * PATTERN_VALUES], count[at - 1])); at--) {
		memcpy(&shown[at * PATTERN_VALUES], &shown[(at - 1) * PATTERN_VALUES], size);
		count[at] = count[at - 1];
	}
	memcpy(&shown[at * PATTERN_VALUES], &one->pattern, size);
	count[at] = one->count;
}

void patterns_add(struct patterns *p, const struct pattern *one, int64_t *shown, int64_t *shown_count)
{
	struct pattern_counted *c = find(p, one);
	if (!c)
		return;
	c->count++;
	if (one->bytes)
		show(c, shown, shown_count);
}
