#include "clock.h"

#include <string.h>
#include <sys/prctl.h>

#include "lock.h"
#include "sys.h"

/*
 * Rates are immutable once published; a thread may still read an old one, so none is reused soon.
 * Each measurement doubles the time to the next, 64 of them outlast any job.
 */
enum { RATES = 64 };
#define FIRST_CHECK 0.02 /* s: the clock's read error of some 50 ns is then below 5e-6 */

static struct clock_rate rates[RATES] = {{.per_tick = 1e-9, .check = 1e300}};
static struct clock_epoch epoch;
static struct lock measuring;
static int current;

const struct clock_rate *clock_rate = &rates[0];

#if defined(__x86_64__)
/* The kernel compares the counters of all CPUs for as long as it runs; its verdict is the clock source. */
bool clock_counter_usable(void)
{
	char source[16] = "";
	int mode = 0;
	if (prctl(PR_GET_TSC, &mode) == 0 && mode != PR_TSC_ENABLE)
		return false;
	int fd = sys_open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	ssize_t got = sys_read(fd, source, sizeof source - 1);
	sys_close(fd);
	return got >= 3 && memcmp(source, "tsc", 3) == 0;
}
#else
bool clock_counter_usable(void)
{
	return true;
}
#endif

struct clock_epoch clock_epoch_now(void)
{
	return (struct clock_epoch){
		.realtime = sys_nanoseconds(CLOCK_REALTIME),
		.monotonic = sys_nanoseconds(CLOCK_MONOTONIC),
		.counter = clock_counter(),
	};
}

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

void clock_start(const struct clock_epoch *from)
{
	epoch = *from;
	struct clock_epoch now = clock_epoch_now();
	struct clock_rate rate = {.at = since_epoch(now.monotonic), .check = 1e300};
	rate.counter = epoch.counter && epoch.per_tick > 0;
	rate.ticks = rate.counter ? now.counter : (uint64_t)now.monotonic;
	rate.per_tick = rate.counter ? epoch.per_tick : 1e-9;
	if (epoch.counter)
		rate.check = rate.at > FIRST_CHECK / 2 ? 2 * rate.at : FIRST_CHECK;
	publish(rate);
}

/* Called when the time for it has come: the counter's rate over the whole span since the epoch. */
double clock_measure(double now)
{
	if (__atomic_exchange_n(&measuring.held, 1, __ATOMIC_ACQUIRE))
		return now;
	struct clock_epoch here = clock_epoch_now();
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
