/*
 * Spin locks that are neither waited for without end nor taken from a holder that may come back: it may be a thread that
 * was stopped inside a record call, or one that is not on a processor. After a bounded wait
 * lock_take and lock_take_deep are false, and what could not be recorded is counted (lock_on_lost). The wait is longer only while
 * the holder makes what the process begins with (lock_work_begin) and is neither stopped nor gone.
 *
 * A lock holds its owner's name (lock_identify). So a forked child takes over what threads of its parent held, and a thread
 * that jumped out of a record call gives back what it held there (self_on_jump): what a lock guards must therefore be
 * changed in an order that makes sense at each step.
 */
#ifndef IOLENS_LOCK_H
#define IOLENS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

struct lock {
	uint64_t owner; /* 0 = free; the lowest bit: a wait for it has timed out */
};

enum { LOCK_STUCK = 1 };

/* Once, before the first lock. */
void lock_start(void);

/* From now on there may be threads that libc does not know of, or processes that share memory and descriptors. */
void lock_share(void);
extern bool lock_is_shared;

/* Gives the calling thread its name: before its first lock, and in a new process. */
void lock_identify(void);

/* The process is a forked child: locks that threads of its parent held are free. */
void lock_next_process(void);

/* Counts what was not done for want of a lock. */
extern void (*lock_on_lost)(void);

__attribute__((cold)) bool lock_wait(struct lock *l);

/* libc's own word that the process has one thread; false where it has none (before 2.32). */
extern const char *lock_single_thread __attribute__((visibility("hidden")));

/* True while there is no thread that could have a lock, or want it before the calling thread ends what it records. */
static inline bool lock_is_needless(void)
{
	return *lock_single_thread;
}

static inline bool lock_try(struct lock *l)
{
	uint64_t unlocked = 0;
	if (lock_is_needless()) { /* a handler records nothing while the thread that it interrupted does */
		if (l->owner)
			return false;
		l->owner = self.name;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return true;
	}
	return __atomic_compare_exchange_n(&l->owner, &unlocked, self.name, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The lock of a record, a list or a table: a thread has one at a time, and may take deep ones inside. */
static inline bool lock_take(struct lock *l)
{
	self.taken = l;
	if (lock_try(l))
		return true;
	return lock_wait(l);
}

static inline void lock_drop(struct lock *l)
{
	__atomic_store_n(&l->owner, 0, __ATOMIC_RELEASE);
}

/* The lock of a structure that all files share: these nest, at most LOCK_DEEP deep, and are dropped in reverse order. */
static inline bool lock_take_deep(struct lock *l)
{
	self.deep[self.depth++ % LOCK_DEEP] = l;
	if (lock_try(l))
		return true;
	if (lock_wait(l))
		return true;
	self.depth--;
	return false;
}

static inline void lock_drop_deep(struct lock *l)
{
	lock_drop(l);
	self.depth--;
}

/*
 * The calling thread, which has the lock of the names, makes what may take long: others wait longer for each lock that it has. Signals
 * with a handler are blocked: none of the program's makes it longer. Where there are no other threads, nothing happens.
 */
struct lock_work {
	uint64_t name; /* the thread's; 0 = nothing has begun */
	uint64_t signals;
};

void lock_work_begin(struct lock_work *w);
void lock_work_end(const struct lock_work *w); /* without the lock; nothing where another thread began it, or none */

/* The calling thread does not go on with what it began: what it holds is free. */
void lock_drop_all(void);

/*
 * Without waiting, and also from the calling thread itself, which may have jumped away since it took it. For what two that
 * change it at once leave inexact at most.
 */
bool lock_take_at_once(struct lock *l);

/*
 * Alone: files that iolens opens while the program runs. Their numbers are the program's, too: another thread may close one that it does
 * not know, read from it, fork with it, or get another number for its own file than the lowest free one. So a file is open only
 * while nothing of the program runs: it has one thread, and that one has its signals blocked.
 */

/* False: other threads may run, and no file is to be opened. */
bool alone_begin(uint64_t *signals);
void alone_end(const uint64_t *signals);

/*
 * Does rare work that opens files and keeps none open, while the caller waits. If other threads run, a thread of its own does it,
 * with a copy of all descriptors: closing the copies may write files of NFS back, as the end of a child does. If the kernel
 * refuses such a thread, the caller does the work.
 */
void alone_do(void (*work)(void *context), void *context);

/*
 * The same for work that may take long or calls functions of libc: signals that end the process still do, and in a debugger, which
 * does not see that thread and may have its breakpoints there, the caller does it. Of a process with one thread nothing is blocked:
 * its handlers run as ever.
 */
void alone_do_long(void (*work)(void *context), void *context);

/* A bounded wait, in time that the process ran: that of a stop does not count. */
struct lock_wait {
	int64_t last, waited; /* ns */
	int turns;
};

/* False when it has been long enough. */
bool lock_wait_on(struct lock_wait *w, int64_t most);

/* It has been, of a wait for another thread at work: while that is neither stopped nor gone, `most` becomes longer, in the end 5 s. */
bool lock_wait_longer(const struct lock_wait *w, int64_t *most, int thread);

#endif
