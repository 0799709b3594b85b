/* The most frequent values, counted as they come, against all of them counted and sorted. */
#include "frequent.h"

#include <string.h>

#include "unit.h"

enum { MOST_VALUES = 48 };

struct counted {
	int64_t value, count;
};

/* The first FREQUENT_DISTINCT values that came, 0 among them. */
struct model {
	int used;
	struct counted each[FREQUENT_DISTINCT];
};

static void add(struct model *m, int64_t v, int64_t times)
{
	int at = 0;
	while (at < m->used && m->each[at].value != v)
		at++;
	if (at == FREQUENT_DISTINCT)
		return;
	m->used += at == m->used;
	m->each[at].value = v;
	m->each[at].count += times;
}

static bool before(struct counted one, struct counted other)
{
	return one.count != other.count ? one.count > other.count : one.value > other.value;
}

/* The next of those that are shown, taken out of the model. */
static struct counted take_first(struct model *m)
{
	struct counted none = {0, 0}, *first = &none;
	for (int i = 0; i < m->used; i++)
		if (m->each[i].value && m->each[i].count && before(m->each[i], *first))
			first = &m->each[i];
	struct counted taken = *first;
	first->count = 0;
	return taken;
}

static void compare(struct model m, const int64_t *shown, const int64_t *shown_count)
{
	for (int i = 0; i < FREQUENT_SHOWN; i++) {
		struct counted first = take_first(&m);
		EQUAL(shown[i], first.value);
		EQUAL(shown_count[i], first.count);
	}
}

/* A value, of `values` that there are: in runs, which change more often than not where `turn` is small. */
static int64_t next(uint64_t *seed, int values, int turn, int64_t last)
{
	return unit_random(seed) % (unsigned)turn ? last : (int64_t)(unit_random(seed) % (unsigned)values);
}

TEST(frequent_values_are_those_of_all_counted)
{
	uint64_t seed = 7;
	for (int round = 0; round < 400; round++) {
		struct frequent f = {0};
		struct model m = {0};
		int64_t shown[FREQUENT_SHOWN] = {0}, shown_count[FREQUENT_SHOWN] = {0}, v = 0;
		int values = 1 + (int)(unit_random(&seed) % MOST_VALUES), turn = 1 + round % 9;
		for (int i = 0; i < 500; i++) {
			v = next(&seed, values, turn, v);
			if (i % 50 == 49) {
				frequent_count(&f, v, 3, shown, shown_count);
				add(&m, v, 3);
			} else {
				frequent_add(&f, v, shown, shown_count);
				add(&m, v, 1);
			}
			compare(m, shown, shown_count);
		}
	}
}
