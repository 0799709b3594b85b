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

struct clock_rate {
	double at;           /* seconds at `ticks` */
	double per_tick;     /* seconds */
	double check;        /* measure again when the time passes this */
	uint64_t ticks;
	bool counter;        /* ticks are those of the time stamp counter */
};

/* Where a clock starts: the same instant on three clocks. */
struct clock_epoch {
	int64_t realtime;    /* ns since 1970 */
	int64_t monotonic;   /* ns */
	uint64_t counter;    /* 0: no usable counter */
	double per_tick;     /* seconds per counter tick, 0: not measured yet */
};

extern const struct clock_rate *clock_rate;

void clock_start(const struct clock_epoch *from);
double clock_measure(double now);
bool clock_counter_usable(void);
struct clock_epoch clock_epoch_now(void);

static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

static inline uint64_t clock_monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double clock_now(void)
{
	const struct clock_rate *r = __atomic_load_n(&clock_rate, __ATOMIC_ACQUIRE);
	uint64_t ticks = __builtin_expect(r->counter, 1) ? clock_counter() : clock_monotonic();
	double now = r->at + (double)(int64_t)(ticks - r->ticks) * r->per_tick;
	return __builtin_expect(now > r->check, 0) ? clock_measure(now) : now;
}

#endif
