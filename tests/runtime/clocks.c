/* A counter and a clock that disagree: machines that slept, other time namespaces, images that were restored. */
#include "../../runtime/base/clock.c"

#include "unit.h"

enum { HOUR = 3600 };

static double per_tick(void)
{
	struct epoch from = epoch_now(), now;
	do
		now = epoch_now();
	while (now.monotonic - from.monotonic < 50000000);
	return since(from.monotonic, now.monotonic) / (double)(now.counter - from.counter);
}

/* An epoch `ago` seconds ago on the three clocks. */
static struct epoch epoch_of(double counter, double monotonic, double realtime)
{
	struct epoch e = epoch_now();
	e.per_tick = per_tick();
	e.counter -= (uint64_t)(int64_t)(counter / e.per_tick);
	e.monotonic -= (int64_t)(monotonic * 1e9);
	e.realtime -= (int64_t)(realtime * 1e9);
	return e;
}

/* Both clocks at one instant: a thread that lost its processor in between asks again. */
static double both(int64_t *monotonic)
{
	for (;;) {
		int64_t before = sys_monotonic();
		double now = clock_now();
		*monotonic = sys_monotonic();
		if (*monotonic - before < 1000000)
			return now;
	}
}

/* Seconds that the clock says 100 ms take, however long the machine took for them. */
static double moment(void)
{
	int64_t from, to;
	double start = both(&from), end;
	do
		end = both(&to);
	while (to - from < 100000000);
	return end - start - since(from, to) + 0.1;
}

static bool close_to(double got, double wanted, double slack)
{
	return got > wanted - slack && got < wanted + slack;
}

/* The counter as it is after a sleep of so many seconds, or a start from a lower count. */
static void move_counter(double by)
{
	uint64_t ticks = (uint64_t)(int64_t)(by / clock_rate->per_tick);
	epoch.counter -= ticks;
	span.counter -= ticks;
	latest.counter -= ticks;
	for (int i = 0; i < RATES; i++)
		rate_at(i)->ticks -= ticks;
}

static void start(double counter, double monotonic, double realtime)
{
	struct epoch e = epoch_of(counter, monotonic, realtime);
	jumps = 0;
	clock_start(&e);
}

TEST(clocks_that_agree_make_no_jump)
{
	start(10, 10, 10);
	CHECK(close_to(clock_now(), 10, 0.2));
	CHECK(close_to(moment(), 0.1, 0.02));
	EQUAL(clock_jumps(), 0);
}

TEST(a_process_begins_after_the_machine_slept)
{
	start(HOUR + 10, 10, HOUR + 10);
	CHECK(close_to(clock_now(), 10, 0.2));
	CHECK(close_to(moment(), 0.1, 0.02));
	EQUAL(clock_jumps(), 1);
}

TEST(a_process_begins_in_another_time_namespace)
{
	static const double offsets[] = {HOUR, -HOUR};
	for (int i = 0; i < 2; i++) {
		start(10, 10 + offsets[i], 10);
		CHECK(close_to(clock_now(), 10, 0.3));
		CHECK(close_to(moment(), 0.1, 0.02));
		EQUAL(clock_jumps(), 1);
	}
}

TEST(a_process_of_a_time_namespace_without_a_counter)
{
	static const double offsets[] = {HOUR, -HOUR};
	for (int i = 0; i < 2; i++) {
		struct epoch e = epoch_of(10, 10 + offsets[i], 10);
		e.counter = 0;
		jumps = 0;
		clock_start(&e);
		CHECK(close_to(clock_now(), 10, 0.3));
		CHECK(close_to(moment(), 0.1, 0.02));
	}
}

TEST(the_counter_jumps_while_the_process_runs)
{
	static const double by[] = {HOUR, -HOUR, 30, -30, 0.7, -5};
	for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
		start(10, 10, 10);
		moment();
		move_counter(by[i]);
		for (int n = 0; n < 13; n++)
			moment(); /* until both are compared */
		EQUAL(clock_jumps(), 1);
		int64_t monotonic;
		double now = both(&monotonic);
		CHECK(close_to(now, since_epoch(monotonic), 0.002));
		CHECK(close_to(moment(), 0.1, 0.02));
		EQUAL(clock_jumps(), 1);
	}
}

/* As of a child that was forked into one. */
TEST(the_clock_of_a_running_process_becomes_another_one)
{
	static const double by[] = {HOUR, -HOUR};
	for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
		start(10, 10, 10);
		moment();
		int64_t then, later;
		double before = both(&then);
		epoch.monotonic -= (int64_t)(by[i] * 1e9); /* all that was measured was measured by the other one */
		span.monotonic -= (int64_t)(by[i] * 1e9);
		latest.monotonic -= (int64_t)(by[i] * 1e9);
		for (int n = 0; n < 13; n++)
			moment();
		EQUAL(clock_jumps(), 1);
		double after = both(&later);
		CHECK(close_to(after - before, since(then, later), 0.02));
		CHECK(close_to(moment(), 0.1, 0.02));
	}
}

/* Restored on a machine whose counter has another rate. */
TEST(another_rate_is_measured_anew)
{
	start(10, 10, 10);
	rate_at(current)->per_tick *= 10;
	for (int n = 0; n < 13; n++)
		moment();
	CHECK(close_to(moment(), 0.1, 0.02));
}
