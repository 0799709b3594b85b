/*
 * The calling thread as iolens sees it. `gate` is recursion guard and kill switch in one word: the
 * data path records only when it is SELF_OPEN. The struct is initial-exec thread-local: no call, no lock.
 */
#ifndef IOLENS_SELF_H
#define IOLENS_SELF_H

#include <stdbool.h>
#include <stdint.h>

#include "live.h"

enum self_gate {
	SELF_OPEN,
	SELF_BUSY, /* inside a record call: whoever comes in now is a signal handler */
	SELF_OWN,  /* iolens works for itself: starting, ending, waking up */
	SELF_NEW   /* no shard yet, or the process is not observed (any more) */
};

struct self {
	uint32_t gate;
	bool shared; /* the shard is used by other threads too */
	struct live_shard *shard;
};

extern __thread struct self self __attribute__((tls_model("initial-exec"), visibility("hidden")));

bool self_admit(void);
void self_start(void);
void self_reset(void);

/* True when the calling thread may record now. */
static inline bool self_ready(void)
{
	return __builtin_expect(self.gate == SELF_OPEN, 1) || self_admit();
}

static inline void self_enter(void)
{
	self.gate = SELF_BUSY;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void self_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self.gate = SELF_OPEN;
}

struct live_shard *self_take_shared(void);
void self_drop_shared(void);

/* The thread's shard, to be written between self_shard and self_shard_done, inside self_enter/leave. */
static inline struct live_shard *self_shard(void)
{
	return __builtin_expect(self.shared, 0) ? self_take_shared() : self.shard;
}

static inline void self_shard_done(void)
{
	if (__builtin_expect(self.shared, 0))
		self_drop_shared();
}

#endif
