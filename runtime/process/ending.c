#include "ending.h"

#include <stdint.h>

#include "lock.h"
#include "thread.h"

enum { AT_WORK = 1, ONE = 2, WAIT_NS = 1000 * 1000 * 1000 };

/*
 * Atomic: ONE for each thread that relies on what is recorded; or, while a thread records the end or undoes that, its `self` and
 * AT_WORK. In one word: a handler sees at once that it has interrupted the thread at work.
 */
static uintptr_t reliers AT_START;

/* What that becomes when the thread at work has done: only that one thread uses it. */
static uintptr_t later AT_START;

static uintptr_t at_work(void)
{
	return (uintptr_t)&self | AT_WORK;
}

/* False: another thread is at work, and takes long; or this one is, which a handler has interrupted. */
static bool settled(uintptr_t *n)
{
	struct lock_wait w = {0};
	while ((*n = __atomic_load_n(&reliers, __ATOMIC_ACQUIRE)) & AT_WORK)
		if (*n == at_work() || !lock_wait_on(&w, WAIT_NS))
			return false;
	return true;
}

static bool change(uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(&reliers, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

enum ending ending_begin(void)
{
	uintptr_t n;
	do {
		if (!settled(&n))
			return ENDING_BUSY;
	} while (!change(n, n ? n + ONE : at_work()));
	self.ends++;
	if (!n)
		later = ONE;
	return n ? ENDING_JOINED : ENDING_FIRST;
}

bool ending_begin_anew(void)
{
	uintptr_t n;
	do {
		if (!settled(&n))
			return false;
	} while (!change(n, at_work()));
	later = n;
	return true;
}

void ending_recorded(void)
{
	__atomic_store_n(&reliers, later, __ATOMIC_RELEASE);
}

bool ending_take_back(void)
{
	uintptr_t n;
	if (!self.ends)
		return false;
	do {
		if (!settled(&n))
			return false;
	} while (n && !change(n, n == ONE ? at_work() : n - ONE));
	self.ends--;
	return n == ONE;
}

void ending_none(void)
{
	__atomic_store_n(&reliers, 0, __ATOMIC_RELEASE);
}
