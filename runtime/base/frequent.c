#include "frequent.h"

#include <stdbool.h>
#include <string.h>

#include "arena.h"

enum { FEW = 4 };

static bool before(int64_t v, int64_t count, int64_t other, int64_t other_count)
{
	return count != other_count ? count > other_count : v > other;
}

/* Puts the value with its new count where it belongs among those shown. */
void frequent_show(int64_t v, int64_t count, int64_t *shown, int64_t *shown_count)
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
	shown[at] = v;
	shown_count[at] = count;
}

static bool make_room(struct frequent *f)
{
	int room = f->room ? FREQUENT_DISTINCT : FEW;
	int64_t *both = arena_take(2 * (size_t)room * sizeof *both);
	if (!both)
		return false;
	if (f->used) {
		memcpy(both, f->value, f->used * sizeof *both);
		memcpy(both + room, f->count, f->used * sizeof *both);
	}
	f->value = both;
	f->count = both + room;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* a thread that jumps away here leaves room that is there */
	f->room = (uint8_t)room;
	return true;
}

void frequent_repeat(struct frequent *f, int64_t more, int64_t *shown, int64_t *shown_count)
{
	if (!f->used || more <= 0)
		return;
	int64_t v = f->value[f->latest];
	f->count[f->latest] += more;
	if (v)
		frequent_show(v, f->count[f->latest], shown, shown_count);
}

void frequent_miss(struct frequent *f, int64_t v, int64_t *shown, int64_t *shown_count)
{
	int at = 0;
	while (at < f->used && f->value[at] != v)
		at++;
	if (at == f->used) {
		if (at == FREQUENT_DISTINCT || (at == f->room && !make_room(f)))
			return;
		f->value[at] = v;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		f->used++;
	}
	f->latest = (uint8_t)at;
	int64_t count = ++f->count[at];
	if (v)
		frequent_show(v, count, shown, shown_count);
}
