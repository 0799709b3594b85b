#include "self.h"

#include <pthread.h>

#include "life.h"
#include "lock.h"
#include "store.h"

__thread struct self self = {.gate = SELF_NEW};

static pthread_key_t at_thread_exit;
static bool have_key;

static void release(void *shard)
{
	struct live_shard *s = shard;
	if (self.shard != s)
		return;
	self.gate = SELF_NEW;
	self.shard = NULL;
	__atomic_store_n(&s->owned, 0, __ATOMIC_RELEASE);
}

void self_start(void)
{
	have_key = have_key || pthread_key_create(&at_thread_exit, release) == 0;
}

/* In a forked child: one thread, and a new store with nothing claimed. */
void self_reset(void)
{
	self.gate = SELF_NEW;
	self.shard = NULL;
}

/* Shards beyond were never touched: whoever reads the store leaves them out. */
static void hand_out(struct live *live, uint64_t shards)
{
	uint64_t known = __atomic_load_n(&live->shards, __ATOMIC_RELAXED);
	while (known < shards &&
	       !__atomic_compare_exchange_n(&live->shards, &known, shards, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static struct live_shard *claim(void)
{
	struct live *live = store_live();
	for (int i = 0; i < LIVE_SHARDS - 1; i++) {
		struct live_shard *s = &live->shard[i];
		uint32_t free = 0;
		if (!store_touch(s, sizeof *s))
			return NULL;
		if (__atomic_compare_exchange_n(&s->owned, &free, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			hand_out(live, (uint64_t)i + 1);
			return s;
		}
	}
	return NULL;
}

static bool adopt_shard(void)
{
	struct live_shard *last = &store_live()->shard[LIVE_SHARDS - 1];
	self.shard = claim();
	self.shared = !self.shard;
	if (self.shared)
		self.shard = store_touch(last, sizeof *last) ? last : NULL;
	if (self.shared && self.shard)
		hand_out(store_live(), LIVE_SHARDS);
	if (!self.shared && have_key)
		pthread_setspecific(at_thread_exit, self.shard);
	return self.shard;
}

static void count_nested(void)
{
	if (self.shard)
		__atomic_fetch_add(&self.shard->operation[LIVE_OP_NESTED].count, 1, __ATOMIC_RELAXED);
}

/* The slow way in: a new thread, a forked child's first operation, a process that is not observed. */
bool self_admit(void)
{
	if (self.gate == SELF_BUSY) {
		count_nested();
		return false;
	}
	if (self.gate == SELF_OWN || !life_observed())
		return false;
	self.gate = SELF_OWN;
	bool ready = life_wake() && (self.shard || adopt_shard());
	self.gate = ready ? SELF_OPEN : SELF_NEW;
	return ready;
}

struct live_shard *self_take_shared(void)
{
	lock_take((struct lock *)&self.shard->lock);
	return self.shard;
}

void self_drop_shared(void)
{
	lock_drop((struct lock *)&self.shard->lock);
}
