/*
 * The calling thread as iolens sees it. `gate` is recursion guard and kill switch in one word: the data path records
 * only when it equals the pass of the process. The struct is initial-exec thread-local: no call, no lock.
 *
 * The pass is on a page that the kernel empties in a forked child, however that was forked; the child gets another pass
 * with its own store. So no thread ever records into the store of the process that it was forked from.
 */
#ifndef IOLENS_SELF_H
#define IOLENS_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process_state.h"
#include "lock.h"
#include "thread.h"

/* The largest page of the machine. */
#if defined(__x86_64__)
enum { SELF_PAGE = 4096 };
#else
enum { SELF_PAGE = 65536 };
#endif

union self_process {
	struct {
		uint64_t pass;   /* 0: not observed, or asleep, or a forked child that has no store yet */
		uint64_t asleep; /* 1: this process, not a forked child, has recorded nothing yet */
		uint64_t owned;  /* 1: the process that self_owner numbers, not a forked child of its number */
		int waking; /* number of the process of which a thread wakes it; what one of our parent's held is free */
		int waker;  /* that thread */
	};
	char page[SELF_PAGE];
};

extern union self_process self_process __attribute__((visibility("hidden")));

static inline uint64_t self_pass(void)
{
	return __atomic_load_n(&self_process.pass, __ATOMIC_ACQUIRE);
}

static inline bool self_asleep(void)
{
	return __atomic_load_n(&self_process.asleep, __ATOMIC_ACQUIRE);
}

bool self_admit(void);

/*
 * Of the threads of this process, to wake it or to change where its store is to be. False: another one held it for a second, or for
 * 5 s where it is neither stopped nor gone.
 */
bool self_take_turn(void);
void self_end_turn(void);

/* At the end: how often the clocks disagreed, as an operation. */
void self_count_clock_jumps(void);

/* What the life of the process, which stands above, tells a thread that may not record yet, and does for one that ends. */
struct self_life {
	bool (*observed)(void);
	bool (*wake)(void); /* maps the store, or gives a forked child its own; false: the process does not record */
	void (*thread_ends)(void);
};

/* Once, when observation starts. */
void self_start(const struct self_life *life);

/* The process that the store belongs to. A forked child in a name space of its own may have the same number. */
extern int self_owner __attribute__((visibility("hidden")));

/* This process is that one from now on. */
void self_own(void);

/* It is: neither a forked child, nor the child of a vfork in its memory. */
bool self_is_owner(void);

/*
 * The calling thread records by descriptors that are not those of the process's table: it is the child of a vfork that has
 * changed one, or, for good, has left the table (unshare). Its gate is no longer the pass, so that each call asks
 * self_admit, which takes that back in the parent, and then tells this. NULL = nothing is to be done.
 */
void self_part(bool for_good);
extern void (*self_on_reunion)(void) __attribute__((visibility("hidden")));

static inline bool self_apart(void)
{
	return __builtin_expect(self.pass == SELF_APART, 0);
}

/* The process is observed, and its first operation wakes it. */
void self_sleep(void);

/* A new pass, after which threads record: the store is there. */
void self_admit_all(void);

/* A thread that has a shard of its own ends; NULL = nothing is to be done. */
extern void (*self_on_thread_end)(struct state_shard *shard) __attribute__((visibility("hidden")));

/*
 * The calling thread does not go on with what it began to record, and still has its locks: what it began to move out of its shard is
 * moved. NULL = nothing is to be done.
 */
extern void (*self_on_given_up)(struct state_shard *shard) __attribute__((visibility("hidden")));

/* A thread has got this shard, which others may have, too (self.shared); NULL = nothing is to be done. */
extern void (*self_on_shard)(int shard) __attribute__((visibility("hidden")));

/* No thread of the process records any more, or until self_admit_all. */
void self_admit_none(void);

/* Only the calling thread has recorded anything since the process began. */
bool self_alone(void);

/* A forked child begins: none has. */
void self_forget_threads(void);

/* True when the calling thread may record now. */
static inline bool self_ready(void)
{
	return __builtin_expect(self.gate == self_pass(), 1) || self_admit();
}

/* `sampled` or `lined`, in one comparison: they lie side by side. */
static inline bool self_settles(void)
{
	uint16_t both;
	_Static_assert(offsetof(struct self, sampled) == offsetof(struct self, lined) + 1, "side by side");
	__builtin_memcpy(&both, &self.lined, sizeof both);
	return both;
}

static inline void self_enter(void)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %0" : "=m"(self.gate) : : "memory");
#else
	self.gate = (uintptr_t)__builtin_frame_address(0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

static inline void self_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self.gate = self.pass;
}

/* iolens works for itself; what was the case before is restored with the value returned. */
static inline uint64_t self_work(void)
{
	uint64_t before = self.gate;
	self.gate = SELF_OWN;
	return before;
}

/*
 * The program is about to leave its stack for one whose pointer is `target` (0 = unknown), and does not come back. A record
 * call that it thereby leaves is given up: its locks are free, the thread records again.
 */
void self_on_jump(uintptr_t target);

/* The same where the program may come back. */
void self_on_switch(void);

bool self_take_shared(void);
void self_drop_shared(void);

/* The thread's shard, to be written between self_shard and self_shard_done, inside self_enter/leave. NULL: it cannot be had. */
static inline struct state_shard *self_shard(void)
{
	if (__builtin_expect(self.shared, 0) && !self_take_shared())
		return NULL;
	if (!self.shard)
		__builtin_unreachable();
	return self.shard;
}

static inline void self_shard_done(void)
{
	if (__builtin_expect(self.shared, 0))
		self_drop_shared();
}

/* Counts an operation that is not timed, where this thread may record. Keeps errno. */
void self_count(enum state_operation_id operation, int64_t calls, int64_t errors, int64_t bytes);

/* Recording, with the lock of a structure that all files share; false: not now. */
static inline bool self_enter_locked(struct lock *l)
{
	if (!self_ready())
		return false;
	self_enter();
	if (lock_take_deep(l))
		return true;
	self_leave();
	return false;
}

static inline void self_leave_locked(struct lock *l)
{
	lock_drop_deep(l);
	self_leave();
}

#endif
