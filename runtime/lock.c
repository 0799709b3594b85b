#include "lock.h"

#include "sys.h"

enum { SPINS = 128, DEADLINE_NS = 200 * 1000 * 1000 };

static int try(struct lock *l)
{
	return !__atomic_load_n(&l->held, __ATOMIC_RELAXED) && !__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE);
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield");
#endif
}

void lock_wait(struct lock *l)
{
	for (int i = 0; i < SPINS; i++) {
		if (try(l))
			return;
		pause_cpu();
	}
	int64_t deadline = sys_nanoseconds(CLOCK_MONOTONIC) + DEADLINE_NS;
	while (!try(l)) {
		sys_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		if (sys_nanoseconds(CLOCK_MONOTONIC) > deadline)
			return;
	}
}
