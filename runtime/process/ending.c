#include "ending.h"

#include <stddef.h>

#include "lock.h"
#include "thread.h"

enum { AT_WORK = -1, WAIT_NS = 1000 * 1000 * 1000 };

/* Atomic: AT_WORK while a thread records the end or undoes that, else how many threads rely on what is recorded. */
static int reliers AT_START;
static const void *worker
	AT_START; /* the `self` of the thread at work; atomic: others only see that it is not theirs */

enum ending ending_begin(void)
{
	struct lock_wait w = {0};
	for (;;) {
		int n = __atomic_load_n(&reliers, __ATOMIC_ACQUIRE);
		if (n == AT_WORK) {
			if (__atomic_load_n(&worker, __ATOMIC_RELAXED) == &self || !lock_wait_on(&w, WAIT_NS))
				return ENDING_BUSY;
			continue;
		}
		if (!__atomic_compare_exchange_n(&reliers, &n, n ? n + 1 : AT_WORK, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			continue;
		self.ends = true;
		if (!n)
			__atomic_store_n(&worker, &self, __ATOMIC_RELAXED);
		return n ? ENDING_JOINED : ENDING_FIRST;
	}
}

static void leave(int n)
{
	__atomic_store_n(&worker, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&reliers, n, __ATOMIC_RELEASE);
}

void ending_recorded(void)
{
	leave(1);
}

bool ending_take_back(void)
{
	int n = self.ends ? __atomic_load_n(&reliers, __ATOMIC_ACQUIRE) : 0;
	self.ends = false;
	while (n > 0 && !__atomic_compare_exchange_n(&reliers, &n, n == 1 ? AT_WORK : n - 1, false, __ATOMIC_ACQ_REL,
						     __ATOMIC_ACQUIRE))
		;
	return n == 1;
}

void ending_none(void)
{
	leave(0);
}
