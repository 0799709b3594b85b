#include "clock.h"

#include "thread.h"
#include "lock.h"
#include "sys.h"

/*
 * Rates are immutable once published; a thread may still read an old one, so none is reused soon.
 * Each measurement doubles the time to the next, 64 of them outlast any job.
 */
enum { RATES = 64 };
#define FIRST_CHECK 0.02 /* s: the clock's read error of some 50 ns is then below 5e-6, that of its system call 1e-5 */

/* The epoch is set at start. A rate is filled under the lock, before the pointer to it is stored. */
static struct clock_rate rates[RATES] AT_START = {{.per_tick = 1e-9, .check = 1e300}};
static struct epoch epoch AT_START;
static struct lock measuring;
static int current AT_START;

const struct clock_rate *clock_rate = &rates[0]; /* atomic: stored under the lock, after what it points to */

static void publish(struct clock_rate rate)
{
	int next = (current + 1) % RATES;
	rates[next] = rate;
	current = next;
	__atomic_store_n(&clock_rate, &rates[next], __ATOMIC_RELEASE);
}

static double since_epoch(int64_t monotonic)
{
	return (double)(monotonic - epoch.monotonic) * 1e-9;
}

void clock_start(const struct epoch *from)
{
	epoch = *from;
	struct epoch now = {.monotonic = sys_monotonic(), .counter = epoch_counter()};
	struct clock_rate rate = {.at = since_epoch(now.monotonic), .check = 1e300};
	rate.counter = epoch.counter && (epoch.per_tick > 0 || rate.at > FIRST_CHECK);
	rate.ticks = rate.counter ? now.counter : (uint64_t)now.monotonic;
	rate.per_tick = rate.counter ? epoch.per_tick : 1e-9;
	if (rate.counter && rate.at > FIRST_CHECK)
		rate.per_tick = rate.at / (double)(int64_t)(now.counter - epoch.counter);
	if (epoch.counter)
		rate.check = rate.at > FIRST_CHECK / 2 ? 2 * rate.at : FIRST_CHECK;
	publish(rate);
}

/* Called when the time for it has come: the counter's rate over the whole span since the epoch. */
double clock_measure(double now)
{
	if (!lock_take_at_once(&measuring))
		return now;
	struct epoch here = epoch_now();
	double at = since_epoch(here.monotonic);
	struct clock_rate rate = {
		.at = at,
		.ticks = here.counter,
		.per_tick = at / (double)(int64_t)(here.counter - epoch.counter),
		.check = 2 * at,
		.counter = true,
	};
	if (rate.per_tick > 0)
		publish(rate);
	lock_drop(&measuring);
	return at;
}
