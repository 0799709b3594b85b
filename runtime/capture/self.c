#include "self.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>

#include "clock.h"
#include "thread.h"
#include "config.h"
#include "lock.h"
#include "path.h"
#include "store.h"
#include "sys.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static void count(enum state_operation_id operation)
{
	if (self.shard)
		__atomic_fetch_add(&self.shard->operation[operation].count, 1, __ATOMIC_RELAXED);
}

static void count_lost(void)
{
	count(STATE_OP_IOLENS_LOST);
}

/* Atomic: the pass is stored last when a process begins to record, first when it ends. */
union self_process self_process __attribute__((aligned(SELF_PAGE)));

/* Set at start, or by the one thread that wakes the process, before the pass. */
static uint64_t last_pass AT_START = 1;
static const struct self_life *life AT_START;
int self_owner AT_START;
void (*self_on_thread_end)(struct state_shard *shard) AT_START;
void (*self_on_given_up)(struct state_shard *shard) AT_START;
void (*self_on_shard)(int shard) AT_START;
void (*self_on_reunion)(void) AT_START;

/* ---- threads come and go ---- */

enum {
	KEYS_WITHOUT_MALLOC = 32
}; /* of glibc: to set the value of a later one may need memory, and then wait for a lock */

/* Made once, before the pass. */
static pthread_key_t at_thread_exit AT_START;
static bool have_key AT_START;

/* What the thread recorded is given up. */
static void drop_all(void)
{
	if (self_on_given_up && self.shard && !self.shared && self.pass == self_pass())
		self_on_given_up(self.shard);
	lock_drop_all();
}

/* What it kept of descriptors of its own is void. */
static void reunite(void)
{
	self.pass = self_pass();
	self.parted = 0;
	if (self_on_reunion)
		self_on_reunion();
}

/* A thread that was cancelled inside a record call ends here, too. */
static void release(void *shard)
{
	struct state_shard *s = shard;
	if (self.shard != s)
		return;
	drop_all();
	self.gate = SELF_OWN;
	if (self.parted)
		reunite();
	if (self_on_thread_end)
		self_on_thread_end(s);
	if (self_is_owner())
		life->thread_ends();
	self.gate = SELF_NEW;
	self.shard = NULL;
	self.communication = NULL;
	self.sampling = NULL;
	__atomic_store_n(&s->owned, 0, __ATOMIC_RELEASE);
}

void self_start(const struct self_life *its_life)
{
	life = its_life;
	lock_on_lost = count_lost;
	if (getauxval(AT_PAGESZ) <= SELF_PAGE)
		sys_call(SYS_madvise, (long)&self_process, SELF_PAGE, MADV_WIPEONFORK, 0, 0, 0);
}

void self_own(void)
{
	self_owner = sys_pid();
	self_process.owned = 1;
}

bool self_is_owner(void)
{
	return self_process.owned && sys_pid() == self_owner;
}

void self_sleep(void)
{
	__atomic_store_n(&self_process.asleep, 1, __ATOMIC_RELEASE);
}

/* At the first waking: it takes no lock and no memory, and costs a process that never wakes a page or two. */
static void make_key(void)
{
	static bool begun AT_START;
	if (!begun)
		have_key = pthread_key_create(&at_thread_exit, release) == 0 && at_thread_exit < KEYS_WITHOUT_MALLOC;
	begun = true;
}

void self_admit_all(void)
{
	make_key();
	last_pass += 2;
	__atomic_store_n(&self_process.pass, last_pass, __ATOMIC_RELEASE);
	__atomic_store_n(&self_process.asleep, 0, __ATOMIC_RELEASE); /* after it: only a forked child sees neither */
}

void self_admit_none(void)
{
	__atomic_store_n(&self_process.asleep, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&self_process.pass, 0, __ATOMIC_RELEASE);
}

/* ---- shards ---- */

/* Shards beyond were never touched: the store reader leaves them out. */
static void hand_out(struct process_state *state, uint64_t shards)
{
	uint64_t known = __atomic_load_n(&state->shards, __ATOMIC_RELAXED);
	while (known < shards &&
	       !__atomic_compare_exchange_n(&state->shards, &known, shards, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static struct state_shard *claim(void)
{
	struct process_state *state = store_state();
	for (int i = 0; i < STATE_SHARDS - 1; i++) {
		struct state_shard *s = &state->shard[i];
		uint64_t free = 0;
		if (!store_touch(s, sizeof *s))
			return NULL;
		if (__atomic_compare_exchange_n(&s->owned, &free, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			hand_out(state, (uint64_t)i + 1);
			return s;
		}
	}
	return NULL;
}

/* Threads that have got a shard, each at its first record, and the last of them. Atomic: read when the process ends. */
static unsigned recorders;
static const struct self *recorder;

bool self_alone(void)
{
	return __atomic_load_n(&recorders, __ATOMIC_ACQUIRE) == 1 &&
	       __atomic_load_n(&recorder, __ATOMIC_RELAXED) == &self;
}

void self_forget_threads(void)
{
	__atomic_store_n(&recorders, 0, __ATOMIC_RELAXED);
}

static bool adopt_shard(void)
{
	struct state_shard *last = &store_state()->shard[STATE_SHARDS - 1];
	self.communication = NULL;
	self.shard = claim();
	self.shared = !self.shard;
	__atomic_store_n(&recorder, &self, __ATOMIC_RELAXED);
	__atomic_fetch_add(&recorders, 1, __ATOMIC_RELEASE);
	self.special = self.shared || config_traces();
	if (self.shared)
		self.shard = store_touch(last, sizeof *last) ? last : NULL;
	if (self.shared && self.shard)
		hand_out(store_state(), STATE_SHARDS);
	if (self_on_shard && self.shard)
		self_on_shard((int)(self.shard - store_state()->shard));
	if (!self.shared && have_key)
		pthread_setspecific(at_thread_exit, self.shard);
	return self.shard;
}

/* Guards the last shard, which threads without one of their own share. */
static struct lock sharing;

bool self_take_shared(void)
{
	return lock_take_deep(&sharing);
}

void self_drop_shared(void)
{
	lock_drop_deep(&sharing);
}

/* ---- record calls that are left by a jump ---- */

static bool recording(void)
{
	return self.gate > SELF_OWN && !(self.gate & 1);
}

/*
 * A handler that runs on a stack of its own may lie on either side of the stack that it interrupted. Of two frames on the
 * same stack the lower one is the inner one.
 */
static bool left_by(uintptr_t target)
{
	stack_t other;
	bool asked = sys_call(SYS_sigaltstack, 0, (long)&other, 0, 0, 0, 0) == 0 && !(other.ss_flags & SS_DISABLE);
	uintptr_t from = asked ? (uintptr_t)other.ss_sp : 0, size = asked ? other.ss_size : 0;
	bool inside = self.gate - from < size, lands_inside = target - from < size;
	return inside == lands_inside ? target > self.gate : inside;
}

static void give_up_recording(void)
{
	drop_all();
	self.gate = self.pass;
}

void self_on_jump(uintptr_t target)
{
	if (self.mpi && target > self.mpi)
		self.mpi = 0;
	self.caller = 0;
	if (target)
		path_jumped(target);
	if (recording() && self.gate != self.switched && target && left_by(target))
		give_up_recording();
}

void self_on_switch(void)
{
	if (recording())
		self.switched = self.gate;
}

/* ---- the slow way in ---- */

/* What the thread knows of the process that this one was forked from is void. */
static void forget_parent(void)
{
	lock_identify();
	bool parted = self.parted;
	if ((parted ? self.parted : self.pass) != self_pass())
		self.shard = NULL;
	if (self_apart())
		reunite();
	self.pass = self_pass();
	if (parted)
		self_part(true);
}

static bool wake_and_adopt(void)
{
	if (!life->wake())
		return false;
	forget_parent();
	return self.shard || adopt_shard();
}

/* No handler may jump out of this half-way, nor a thread be cancelled in it. */
static bool admit(void)
{
	uint64_t before;
	bool blocked = sys_block_all_signals(&before);
	self.gate = SELF_OWN;
	bool ready = wake_and_adopt();
	self.gate = ready ? self.pass : SELF_NEW;
	if (blocked)
		sys_restore_all_signals(&before);
	return ready;
}

void self_part(bool for_good)
{
	if (for_good)
		self.parted = self_pass();
	if (self.gate == self.pass)
		self.gate = SELF_APART;
	self.pass = SELF_APART;
}

/* True in the child of a vfork, and in a thread that parted in this process. */
static bool still_apart(uint64_t pass)
{
	if (self.parted == pass || !self_is_owner())
		return true;
	if (self.parted)
		return false;
	self.gate = SELF_OWN;
	reunite();
	self.gate = self.pass;
	return true;
}

/* A new thread, a forked child's first operation, a process that is not observed, a handler that interrupted a record call. */
bool self_admit(void)
{
	uint64_t pass = self_pass();
	if (pass && self.gate == pass) /* a handler was here since the caller looked */
		return true;
	if (pass && recording()) {
		if (self.gate == self.switched || !left_by((uintptr_t)__builtin_frame_address(0))) {
			count(STATE_OP_IOLENS_NESTED);
			return false;
		}
		give_up_recording();
		return self_ready();
	}
	if (pass && self.gate == SELF_APART && still_apart(pass))
		return true;
	if (self.gate == SELF_OWN || !life || !life->observed())
		return false;
	return admit();
}

void self_count(enum state_operation_id operation, int64_t calls, int64_t errors, int64_t bytes)
{
	int saved = errno;
	if (self_ready()) {
		self_enter();
		struct state_shard *shard = self_shard();
		if (shard) {
			struct state_operation *o = &shard->operation[operation];
			o->count += calls;
			o->errors += errors;
			o->bytes += bytes;
			self_shard_done();
		}
		self_leave();
	}
	errno = saved;
}

/* ---- turns ---- */

enum { WAKING_NS = 1000 * 1000 * 1000 };

static int thread_number(void)
{
	return (int)sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* Not for the calling thread, of which a handler wants the turn that it interrupted. */
static bool wait_longer(const struct lock_wait *w, int64_t *most)
{
	int waker = __atomic_load_n(&self_process.waker, __ATOMIC_RELAXED);
	return waker != thread_number() && lock_wait_longer(w, most, waker);
}

bool self_take_turn(void)
{
	int pid = sys_pid();
	struct lock_wait w = {0};
	int64_t most = WAKING_NS;
	int *waking = &self_process.waking, holder = __atomic_load_n(waking, __ATOMIC_RELAXED);
	if (pid <= 0)
		return false; /* a filter has answered */
	while (holder == pid ||
	       !__atomic_compare_exchange_n(waking, &holder, pid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (!lock_wait_on(&w, most) && !wait_longer(&w, &most))
			return false;
		holder = __atomic_load_n(waking, __ATOMIC_RELAXED);
	}
	if (!lock_is_needless())
		__atomic_store_n(&self_process.waker, thread_number(), __ATOMIC_RELAXED);
	return true;
}

void self_end_turn(void)
{
	__atomic_store_n(&self_process.waker, 0, __ATOMIC_RELAXED); /* whose number may be another thread's later */
	__atomic_store_n(&self_process.waking, 0, __ATOMIC_RELEASE);
}

void self_count_clock_jumps(void)
{
	static int64_t counted;
	int64_t jumps = clock_jumps();
	if (jumps > counted)
		self_count(STATE_OP_IOLENS_CLOCK_JUMP, jumps - counted, 0, 0);
	counted = jumps;
}
