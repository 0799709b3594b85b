/*
 * Time in seconds since the start of the job (of the session, or of the process without one).
 * Reads the time stamp counter when the kernel itself trusts it, else CLOCK_MONOTONIC. The rate is
 * measured against CLOCK_MONOTONIC over ever longer spans, so that its error shrinks as time passes.
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
	double check;    /* measure again when the time passes this */
	uint64_t ticks;
	bool counter; /* ticks are those of the time stamp counter */
};

extern const struct clock_rate *clock_rate;

void clock_start(const struct epoch *from);
double clock_measure(double now);

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
	double now = r->at + (double)(int64_t)(ticks - r->ticks) * r->per_tick;
	return __builtin_expect(now > r->check, 0) ? clock_measure(now) : now;
}

#endif
