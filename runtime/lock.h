/*
 * A spin lock that never waits for ever: the holder may be a thread that was cancelled or stopped
 * inside a record call, and a job must not hang because of that. After the deadline the lock is
 * taken over; the worst outcome is one inexact counter.
 */
#ifndef IOLENS_LOCK_H
#define IOLENS_LOCK_H

#include <stdint.h>

struct lock {
	uint32_t held;
};

void lock_wait(struct lock *l);

static inline void lock_take(struct lock *l)
{
	if (__builtin_expect(__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE), 0))
		lock_wait(l);
}

static inline void lock_drop(struct lock *l)
{
	__atomic_store_n(&l->held, 0, __ATOMIC_RELEASE);
}

#endif
