/*
 * Time in seconds since the start of the job (of the session, or of the process without one).
 * Reads the time stamp counter when the kernel itself trusts it, else CLOCK_MONOTONIC. The rate is
 * measured against CLOCK_MONOTONIC over ever longer spans, so that its error shrinks as time passes. Once a second both
 * are compared: after a suspend, in another time namespace or after a restore they disagree, and a new span begins.
 */
#ifndef IOLENS_CLOCK_H
#define IOLENS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "epoch.h"

struct clock_rate {
	double at;       /* seconds at `ticks` */
	double per_tick; /* seconds */
	uint64_t ticks;
	uint64_t check; /* atomic: measure again this many ticks later; a counter that was set back is beyond it, too */
	bool counter;   /* ticks are those of the time stamp counter */
};

extern const struct clock_rate *clock_rate;

void clock_start(const struct epoch *from);
double clock_measure(void);

/* How often the clocks disagreed: each time a new span began. */
int64_t clock_jumps(void);

static inline uint64_t clock_monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double clock_now(void)
{
	const struct clock_rate *r = __atomic_load_n(&clock_rate, __ATOMIC_ACQUIRE);
	uint64_t ticks = __builtin_expect(r->counter, 1) ? epoch_counter() : clock_monotonic();
	uint64_t since = ticks - r->ticks;
	if (__builtin_expect(since > __atomic_load_n(&r->check, __ATOMIC_RELAXED), 0))
		return clock_measure();
	return r->at + (double)(int64_t)since * r->per_tick;
}

#endif
