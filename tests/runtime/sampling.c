/* Which calls take the clock, on a clock of the test's own: what streams of known times are estimated to have taken. */
#include "sampling.h"

#include <string.h>

#include "unit.h"

void (*self_on_shard)(int shard);

static struct state_shard shard;
static struct fds_open opened = {.id = 1};

struct stream {
	double (*takes)(int i);   /* s */
	double (*between)(int i); /* s, before the call */
	double real, estimated;   /* s in calls */
	int timed;
	int waits; /* of 1,024 calls for a lock */
};

static void call(struct stream *t, double *now, int i, int64_t bytes)
{
	struct sampling *k = sampling_of(3, IO_READ);
	struct span s = {.at = (uintptr_t)&opened, .fd = 3};
	struct sampled before;
	double took = t->takes(i);
	*now += t->between(i);
	s.start = *now;
	*now += took;
	self.waits += i % 1024 < t->waits;
	t->real += took;
	if (k->left && sampling_is(k, s) && bytes <= k->largest) {
		k->left--;
		return;
	}
	t->timed++;
	t->estimated += took;
	if (sampling_on(k) && sampling_take(s, IO_READ, s.start, &before))
		t->estimated += before.busy;
	sampling_timed(k, s, bytes, *now);
}

static void run(struct stream *t, int calls)
{
	double now = 1;
	memset(&shard, 0, sizeof shard);
	self.shard = &shard;
	config.times = TIMES_SAMPLED;
	opened.id++;
	sampling_adopt(0);
	for (int i = 0; i < calls; i++)
		call(t, &now, i, 4096);
}

static bool within(double value, double want, double part)
{
	return value > want * (1 - part) && value < want * (1 + part);
}

static double doubtful(void)
{
	return shard.operation[STATE_OP_IOLENS_DOUBTFUL].time;
}

static double close_by(int i)
{
	(void)i;
	return 50e-9;
}

static double varying(int i)
{
	return 300e-9 + 600e-9 * (double)(((uint32_t)i * 2654435761u) >> 8) / (double)(1 << 24);
}

TEST(one_call_in_sixteen_stands_for_the_others)
{
	struct stream t = {.takes = varying, .between = close_by};
	run(&t, 400000);
	CHECK(within(t.estimated, t.real, 0.01));
	CHECK(within(t.timed, 1024 + 400000.0 / 16.5, 0.05));
	CHECK(doubtful() == 0);
	struct sampling *k = sampling_of(3, IO_READ);
	int64_t pending = k->drawn - k->left;
	EQUAL(shard.operation[STATE_OP_IOLENS_UNTIMED].count, 400000 - t.timed - pending);
}

static double every_sixteenth(int i)
{
	return i % 16 ? 300e-9 : 5e-6;
}

TEST(a_pattern_does_not_fall_into_step)
{
	struct stream t = {.takes = every_sixteenth, .between = close_by};
	run(&t, 4000000);
	CHECK(within(t.estimated, t.real, 0.02));
	CHECK(t.timed < 400000);
}

static double slower(int i)
{
	return i < 200000 ? 400e-9 : 1500e-9;
}

TEST(times_that_grow_are_followed)
{
	struct stream t = {.takes = slower, .between = close_by};
	run(&t, 400000);
	CHECK(within(t.estimated, t.real, 0.02));
	CHECK(t.timed < 40000);
}

static double stalling(int i)
{
	return i % 20000 == 19999 ? 5e-3 : 400e-9;
}

TEST(stalls_are_missed_once)
{
	struct stream t = {.takes = stalling, .between = close_by};
	run(&t, 2000000);
	CHECK(within(t.estimated, t.real, 0.05));
	CHECK(t.estimated + doubtful() > 0.999 * t.real);
}

static double steady(int i)
{
	(void)i;
	return 400e-9;
}

static double pausing(int i)
{
	return i % 20000 == 19999 ? 10e-3 : 50e-9;
}

TEST(pauses_are_no_time_in_calls)
{
	struct stream t = {.takes = steady, .between = pausing};
	run(&t, 2000000);
	CHECK(within(t.estimated, t.real, 0.02));
	CHECK(t.timed < 500000);
}

static double seldom(int i)
{
	(void)i;
	return 10e-6;
}

TEST(calls_that_are_far_apart_are_all_timed)
{
	struct stream t = {.takes = steady, .between = seldom};
	run(&t, 100000);
	EQUAL(t.timed, 100000);
}

static double crowded(int i)
{
	return 2e-6 + 10 * varying(i);
}

TEST(calls_of_threads_that_meet_at_a_lock_are_sampled)
{
	struct stream seldom_meets = {.takes = crowded, .between = seldom, .waits = 8};
	run(&seldom_meets, 400000);
	EQUAL(seldom_meets.timed, 400000);
	struct stream meets = {.takes = crowded, .between = seldom, .waits = 32};
	run(&meets, 400000);
	CHECK(within(meets.estimated, meets.real, 0.01));
	CHECK(within(meets.timed, 1024 + 400000.0 / 16.5, 0.05));
}

TEST(what_is_larger_takes_the_clock)
{
	struct stream t = {.takes = steady, .between = close_by};
	run(&t, 3000);
	double now = 100;
	int timed = t.timed;
	call(&t, &now, 0, 4097);
	EQUAL(t.timed, timed + 1);
	call(&t, &now, 0, 4096);
	EQUAL(t.timed, timed + 2);
}

TEST(a_thread_that_times_all_has_no_table)
{
	config.times = TIMES_EXACT;
	sampling_adopt(0);
	CHECK(!sampling_of(3, IO_READ));
	config.times = TIMES_SAMPLED;
	self.special = true;
	sampling_adopt(0);
	CHECK(!sampling_of(3, IO_READ));
	self.special = false;
}
