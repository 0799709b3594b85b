/* Clocks before the epoch or without sense, and counts in the store that are none: nothing is written beyond. */
#include <math.h>
#include <string.h>

#include "../../modules/heatmap/record.h"
#include "unit.h"

enum { ROOM = 1 << 16 };

/* What lies in front of a shard and behind it in the store. */
static struct {
	char before[ROOM];
	struct state_shard shard;
	char after[ROOM];
} store;

static bool untouched(void)
{
	static const char zeros[ROOM];
	return !memcmp(store.before, zeros, ROOM) && !memcmp(store.after, zeros, ROOM);
}

static int64_t bytes_of(const struct state_heat *h)
{
	int64_t sum = 0;
	for (int b = 0; b < STATE_BINS; b++)
		sum += h->bytes[IO_READ][b];
	return sum;
}

static const double moments[] = {-1e-9, -0.05, -29000, -1e9, -1e300, -INFINITY, INFINITY, 1e300, NAN};

TEST(the_bin_of_any_moment_is_one_of_the_map)
{
	for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
		memset(&store, 0, sizeof store);
		struct state_heat *h = &store.shard.heat[STATE_HEAT_POSIX];
		heatmap_near[STATE_HEAT_POSIX].width = -1;
		heatmap_add(&store.shard, STATE_HEAT_POSIX, IO_READ, 100, moments[i], moments[i]);
		CHECK(heatmap_near[STATE_HEAT_POSIX].bin >= 0 && heatmap_near[STATE_HEAT_POSIX].bin < STATE_BINS);
		CHECK(heatmap_add_near(&store.shard, STATE_HEAT_POSIX, IO_READ, 10));
		EQUAL(bytes_of(h), 110);
		CHECK(untouched());
	}
}

TEST(an_access_that_began_before_the_epoch_keeps_its_bytes)
{
	memset(&store, 0, sizeof store);
	struct state_heat *h = &store.shard.heat[STATE_HEAT_POSIX];
	heatmap_near[STATE_HEAT_POSIX].width = -1;
	heatmap_add(&store.shard, STATE_HEAT_POSIX, IO_READ, 1000, -50, 1);
	EQUAL(bytes_of(h), 1000);
}

TEST(a_damaged_count_of_segments_leads_nowhere)
{
	static const uint32_t counts[] = {STATE_SEGMENTS, STATE_SEGMENTS + 1, 5000, UINT32_MAX};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		for (int late = 0; late < 2; late++) {
			memset(&store, 0, sizeof store);
			struct state_timeline *t = &store.shard.timeline;
			for (int k = 0; k < STATE_SEGMENTS; k++)
				t->segment[k] = (struct state_segment){k, k + 0.5, {0}};
			t->used = counts[i];
			state_timeline_add(t, IO_READ, late ? 1000 : 3.25, late ? 1001 : 1000);
			CHECK(t->used > 0 && t->used <= STATE_SEGMENTS);
			CHECK(untouched());
		}
}

TEST(a_damaged_count_of_steps_leads_nowhere)
{
	static struct {
		char before[ROOM];
		struct state_phases phases;
		char after[ROOM];
	} p;
	static const char zeros[ROOM];
	static const int64_t counts[] = {-1, INT64_MIN, STATE_STEPS + 1, INT64_MAX};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		memset(&p, 0, sizeof p);
		p.phases.steps = counts[i];
		phase_state_step(&p.phases, &(struct state_step){.count = 1});
		CHECK(p.phases.steps > 0 && p.phases.steps <= STATE_STEPS);
		CHECK(!memcmp(p.before, zeros, ROOM) && !memcmp(p.after, zeros, ROOM));
	}
}
