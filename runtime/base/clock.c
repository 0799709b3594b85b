#include "clock.h"

#include "thread.h"
#include "lock.h"
#include "sys.h"

/*
 * Rates are immutable once published, but for `check`; a thread may still read an old one, so none is reused soon.
 * Each measurement doubles the time to the next, 64 of them outlast any job.
 */
enum { RATES = 64, EARLY = 2 };
#define FIRST_CHECK 0.02 /* s: the clock's read error of some 50 ns is then below 5e-6, that of its system call 1e-5 */
#define COMPARED    1.0  /* s: how often both clocks are compared */
#define SLACK       0.02 /* s: by which they may differ, with a share of the time */
#define NEVER       UINT64_MAX

/* Set at start. A rate is filled under the lock, before the pointer to it is stored; all but the rates is guarded by it. */
static struct clock_rate early[EARLY] AT_START = {{.per_tick = 1e-9, .check = NEVER}};
static struct clock_rate later[RATES]; /* the others, on pages that most processes do not write */
static struct epoch epoch AT_START;  /* monotonic: as the clock of this process's time namespace would have shown it */
static struct epoch span AT_START;   /* where the span of the current rate begins */
static struct epoch latest AT_START; /* where both clocks were compared */
static double measured AT_START;     /* s: the age of the span at its last measurement */
static int64_t jumps AT_START;
static bool is_new AT_START; /* the span is: its rate is that of another one, or of a few ms */
static struct lock measuring;
static int current AT_START;

const struct clock_rate *clock_rate = &early[0]; /* atomic: stored under the lock, after what it points to */

int64_t clock_jumps(void)
{
	return __atomic_load_n(&jumps, __ATOMIC_RELAXED);
}

static struct clock_rate *rate_at(int n)
{
	return n < EARLY ? &early[n] : &later[n];
}

static void publish(struct clock_rate rate)
{
	int next = (current + 1) % RATES;
	*rate_at(next) = rate;
	current = next;
	__atomic_store_n(&clock_rate, rate_at(next), __ATOMIC_RELEASE);
}

static double since_epoch(int64_t monotonic)
{
	return (double)(monotonic - epoch.monotonic) * 1e-9;
}

static double since(int64_t before, int64_t now)
{
	return (double)(now - before) * 1e-9;
}

static bool alike(double a, double b, double share)
{
	double apart = a > b ? a - b : b - a, whole = a > b ? a : b;
	return apart <= SLACK + (whole > 0 ? whole * share : 0);
}

static double until_check(double age)
{
	double next = is_new || age < FIRST_CHECK ? FIRST_CHECK : age;
	return next < COMPARED ? next : COMPARED;
}

/*
 * The clocks disagree. CLOCK_MONOTONIC is right (suspended or restored: the counter went on, or began again), unless it is
 * another one now, of another time namespace: it went back, or further than the counter did, which the calendar confirms.
 */
static void begin_span(const struct epoch *here, double by_counter)
{
	double by_clock = since(latest.monotonic, here->monotonic);
	double by_calendar = since(latest.realtime, here->realtime);
	if (by_clock < 0 || (by_clock > by_counter && alike(by_counter, by_calendar, 0.1)))
		epoch.monotonic += (int64_t)((by_clock - (by_counter > 0 ? by_counter : 0)) * 1e9);
	span = *here;
	is_new = true;
	__atomic_fetch_add(&jumps, 1, __ATOMIC_RELAXED);
}

void clock_start(const struct epoch *from)
{
	epoch = span = latest = *from;
	struct epoch now = {.monotonic = sys_monotonic(), .counter = epoch_counter()};
	double at = since_epoch(now.monotonic);
	struct clock_rate rate = {.per_tick = 1e-9, .check = NEVER, .counter = epoch.counter && epoch.per_tick > 0};
	double by_counter = (double)(int64_t)(now.counter - epoch.counter) * epoch.per_tick;
	is_new = at < FIRST_CHECK;
	if (rate.counter && !alike(at, by_counter, 0.002)) {
		now = epoch_now();
		begin_span(&now, (double)(int64_t)(now.counter - epoch.counter) * epoch.per_tick);
	} else if (!rate.counter && (at < 0 || at > 1)) {
		now = epoch_now();
		is_new = true;
		if (at < 0 || at > since(epoch.realtime, now.realtime) + 1)
			begin_span(&now, since(epoch.realtime, now.realtime));
	}
	if (!now.realtime)
		now.realtime = epoch.realtime + (now.monotonic - epoch.monotonic);
	latest = now;
	rate.at = since_epoch(now.monotonic);
	rate.ticks = rate.counter ? now.counter : (uint64_t)now.monotonic;
	if (rate.counter)
		rate.per_tick = is_new ? epoch.per_tick : rate.at / (double)(int64_t)(now.counter - epoch.counter);
	else
		span = now;
	measured = since(span.monotonic, now.monotonic);
	if (epoch.counter)
		rate.check = (uint64_t)(until_check(measured) / rate.per_tick);
	publish(rate);
}

/* The counter's rate over its whole span. */
static double measure(const struct clock_rate *before, const struct epoch *here)
{
	int64_t ticks = (int64_t)(here->counter - span.counter);
	struct clock_rate rate = *before;
	double age = since(span.monotonic, here->monotonic);
	is_new = age < FIRST_CHECK || ticks <= 0;
	if (!is_new) {
		rate.counter = true;
		rate.per_tick = age / (double)ticks;
	}
	rate.at = since_epoch(here->monotonic);
	rate.ticks = rate.counter ? here->counter : (uint64_t)here->monotonic;
	rate.check = (uint64_t)(until_check(age) / rate.per_tick);
	measured = age;
	publish(rate);
	return rate.at;
}

static double check_later(struct clock_rate *r, const struct epoch *here)
{
	uint64_t passed = here->counter - r->ticks;
	double next = until_check(since(span.monotonic, here->monotonic));
	__atomic_store_n(&r->check, passed + (uint64_t)(next / r->per_tick), __ATOMIC_RELAXED);
	return r->at + (double)(int64_t)passed * r->per_tick;
}

/* Called when the time for it has come. A thread that finds another one at it takes the clock that is always right. */
double clock_measure(void)
{
	if (!lock_take_at_once(&measuring))
		return since_epoch(sys_monotonic());
	struct epoch here = epoch_now();
	struct clock_rate *r = rate_at(current);
	double by_counter = r->counter ? (double)(int64_t)(here.counter - latest.counter) * r->per_tick : 0;
	double by_clock = since(latest.monotonic, here.monotonic);
	bool agree = r->counter ? alike(by_counter, by_clock, is_new ? 0.5 : 0.001) : by_clock >= 0;
	struct clock_rate rate = *r;
	if (!agree && is_new && by_clock > 0 && here.counter > latest.counter) /* on another machine */
		rate.per_tick = by_clock / (double)(here.counter - latest.counter);
	if (!agree)
		begin_span(&here, by_counter);
	bool due = is_new || since(span.monotonic, here.monotonic) > 1.9 * measured;
	double now = due ? measure(&rate, &here) : check_later(r, &here);
	latest = here;
	lock_drop(&measuring);
	return now;
}
