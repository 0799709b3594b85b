#include "lock.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

#include "thread.h"
#include "sys.h"

enum {
	SPINS = 128,
	BRIEF = 8,  /* turns at a lock that another thread has given up on */
	YIELDS = 8, /* to threads of the same priority; one of a lower runs while this one sleeps */
	SLEEP_NS = 20 * 1000,
	LONGEST_NS = 200 * 1000 * 1000,
	AT_WORK_TURNS = 25,        /* so many times as long at most for a thread at work */
	TURN_LEAST_NS = 1000,      /* also where a filter answers for the clock, which then stands still */
	TURN_NS = 10 * 1000 * 1000 /* what one turn counts at most: the process may have been stopped meanwhile */
};

__thread struct self self __attribute__((tls_model("initial-exec"))) = {.gate = SELF_NEW};
void (*lock_on_lost)(void) AT_START;

static const char may_be_more;
/* Set at start to libc's word, and once more before the first thread that libc does not know of; read without order. */
const char *lock_single_thread = &may_be_more;

/* There is none before 2.32. */
extern char __libc_single_threaded __attribute__((weak));

void lock_start(void)
{
	if (&__libc_single_threaded)
		lock_single_thread = &__libc_single_threaded;
}

/* How many forks this process is away from the first. Atomic: one thread of a forked child adds. */
static uint64_t generation AT_START;

/* Bits 48 and up: the process; below: the thread. */
void lock_identify(void)
{
	self.name = (uintptr_t)&self | (__atomic_load_n(&generation, __ATOMIC_ACQUIRE) + 1) << 48;
	self.depth = 0;
}

void lock_next_process(void)
{
	__atomic_fetch_add(&generation, 1, __ATOMIC_ACQ_REL);
	lock_identify();
}

bool lock_is_shared; /* set once, before the first of them is made */

void lock_share(void)
{
	lock_is_shared = true;
	lock_single_thread = &may_be_more;
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield");
#endif
}

static void let_others(int turns)
{
	static const struct timespec nap = {.tv_nsec = SLEEP_NS};
	if (turns <= SPINS + YIELDS)
		sys_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	else
		sys_call(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
}

bool lock_wait_on(struct lock_wait *w, int64_t most)
{
	if (w->turns++ < SPINS) {
		pause_cpu();
		return true;
	}
	int64_t now = sys_nanoseconds(CLOCK_MONOTONIC);
	int64_t turn = w->last ? now - w->last : 0;
	w->last = now;
	turn = turn > TURN_LEAST_NS ? turn : TURN_LEAST_NS;
	w->waited += turn < TURN_NS ? turn : TURN_NS;
	let_others(w->turns);
	return w->waited < most;
}

/* A name's upper bits are the process's: a lock that a thread of our parent held is free. */
static bool of_parent(uint64_t owner)
{
	return (owner ^ self.name) >> 48;
}

/* Atomic: written by the one thread that holds the lock of the names, the number first; emptied by the thread itself. */
static struct {
	uint64_t name; /* in the locks that it holds; 0 = none is at work */
	int thread;
} at_work;

static bool block_handled(uint64_t *before);

void lock_work_begin(struct lock_work *w)
{
	w->name = 0;
	if (lock_is_needless() || !block_handled(&w->signals))
		return;
	w->name = self.name;
	__atomic_store_n(&at_work.thread, (int)sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0), __ATOMIC_RELAXED);
	__atomic_store_n(&at_work.name, self.name, __ATOMIC_RELEASE);
}

static void end_work(void)
{
	uint64_t mine = self.name;
	__atomic_compare_exchange_n(&at_work.name, &mine, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void lock_work_end(const struct lock_work *w)
{
	if (w->name != self.name)
		return;
	end_work();
	sys_restore_all_signals(&w->signals);
}

struct look {
	char path[40];
	char text[64]; /* number, name in brackets, state */
};

static void read_state(void *look)
{
	struct look *l = look;
	long n = sys_read_file(l->path, l->text, sizeof l->text - 1);
	l->text[n > 0 ? n : 0] = '\0';
}

/* As the kernel says; not where it cannot be asked, nor of a thread of another process or under another number. */
static bool goes_on(int thread)
{
	struct look l = {.path = "/proc/self/task/"};
	memcpy(sys_decimal(l.path + strlen(l.path), (unsigned)thread), "/stat", 6);
	alone_do(read_state, &l);
	const char *name_end = strrchr(l.text, ')');
	return name_end && name_end[1] == ' ' && name_end[2] && !strchr("TtZXx", name_end[2]);
}

bool lock_wait_longer(const struct lock_wait *w, int64_t *most, int thread)
{
	if (w->waited >= AT_WORK_TURNS * (int64_t)LONGEST_NS || !goes_on(thread))
		return false;
	*most = w->waited + LONGEST_NS;
	return true;
}

static bool try(struct lock *l)
{
	uint64_t owner = __atomic_load_n(&l->owner, __ATOMIC_RELAXED);
	if (owner && !of_parent(owner))
		return false;
	return __atomic_compare_exchange_n(&l->owner, &owner, self.name, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool lock_take_at_once(struct lock *l)
{
	return try(l) || __atomic_load_n(&l->owner, __ATOMIC_RELAXED) == self.name;
}

/* Threads that come later wait for it only briefly. */
static void give_up(struct lock *l)
{
	uint64_t owner = __atomic_load_n(&l->owner, __ATOMIC_RELAXED);
	if (owner)
		__atomic_compare_exchange_n(&l->owner, &owner, owner | LOCK_STUCK, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	if (lock_on_lost)
		lock_on_lost();
}

static bool is_longer(uint64_t owner, const struct lock_wait *w, int64_t *most)
{
	return (owner & ~(uint64_t)LOCK_STUCK) == __atomic_load_n(&at_work.name, __ATOMIC_ACQUIRE) &&
	       lock_wait_longer(w, most, __atomic_load_n(&at_work.thread, __ATOMIC_RELAXED));
}

bool lock_wait(struct lock *l)
{
	struct lock_wait w = {0};
	int64_t most = LONGEST_NS;
	bool mine = false, stuck = false;
	self.waits++;
	while (!mine && !stuck && !try(l)) {
		uint64_t owner = __atomic_load_n(&l->owner, __ATOMIC_RELAXED);
		mine = (owner & ~(uint64_t)LOCK_STUCK) == self.name;
		stuck = (!lock_wait_on(&w, most) && !is_longer(owner, &w, &most)) ||
			(owner & LOCK_STUCK && w.turns > SPINS + BRIEF);
	}
	if (mine || stuck)
		give_up(l);
	return !mine && !stuck;
}

static void drop_mine(struct lock *l)
{
	uint64_t owner = __atomic_load_n(&l->owner, __ATOMIC_RELAXED);
	if ((owner & ~(uint64_t)LOCK_STUCK) == self.name)
		lock_drop(l);
}

void lock_drop_all(void)
{
	for (int i = 0; i < LOCK_DEEP; i++)
		if (self.deep[i])
			drop_mine(self.deep[i]);
	self.depth = 0;
	end_work();
	if (self.taken)
		drop_mine(self.taken);
}

/* ---- alone ---- */

/* A thread's directory is a link to that of all: libc's word is not there before 2.32, and stays when all others have ended. */
static bool has_one_thread(void)
{
	enum { OWN_LINKS = 2 };
	struct stat s;
	return sys_call(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&s, 0, 0, 0) == 0 &&
	       s.st_nlink == OWN_LINKS + 1;
}

bool alone_begin(uint64_t *signals)
{
	if (self.apart)
		return sys_block_all_signals(signals);
	if (lock_is_shared || !sys_block_all_signals(signals))
		return false;
	if (lock_is_needless() || has_one_thread())
		return true;
	sys_restore_all_signals(signals);
	return false;
}

void alone_end(const uint64_t *signals)
{
	sys_restore_all_signals(signals);
}

/* Like vfork, but for the process: the new thread runs on the caller's stack, below all that is in use, until it ends. */
long alone_clone(long flags, void (*work)(void *), void *context) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".hidden alone_clone\n.globl alone_clone\n.type alone_clone, @function\n"
	"alone_clone:\n"
	"	pushq %rbx\n"
	"	pushq %rbp\n"
	"	movq %rsi, %rbx\n"
	"	movq %rdx, %rbp\n"
	"	xorl %esi, %esi\n"
	"	xorl %edx, %edx\n"
	"	xorl %r10d, %r10d\n"
	"	xorl %r8d, %r8d\n"
	"	movl $56, %eax\n"
	"	syscall\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	popq %rbp\n"
	"	popq %rbx\n"
	"	ret\n"
	"1:	movq %rbp, %rdi\n"
	"	subq $8, %rsp\n"
	"	call *%rbx\n"
	"	xorl %edi, %edi\n"
	"	movl $60, %eax\n"
	"	syscall\n"
	"	ud2\n"
	".size alone_clone, .-alone_clone\n");
#elif defined(__aarch64__)
__asm__(".hidden alone_clone\n.globl alone_clone\n.type alone_clone, @function\n"
	"alone_clone:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	stp x19, x20, [sp, #16]\n"
	"	mov x19, x1\n"
	"	mov x20, x2\n"
	"	mov x1, xzr\n"
	"	mov x2, xzr\n"
	"	mov x3, xzr\n"
	"	mov x4, xzr\n"
	"	mov x8, #220\n"
	"	svc 0\n"
	"	cbz x0, 1f\n"
	"	ldp x19, x20, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	ret\n"
	"1:	mov x0, x20\n"
	"	blr x19\n"
	"	mov x0, xzr\n"
	"	mov x8, #93\n"
	"	svc 0\n"
	"	brk #0\n"
	".size alone_clone, .-alone_clone\n");
#endif

/* It makes no such thread, and where it is asked to leaves all signals blocked for ever. */
static bool in_valgrind AT_START; /* set at start */

__attribute__((constructor)) static void look_for_valgrind(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv;
	for (; environment && *environment; environment++)
		if (strncmp(*environment, "LD_PRELOAD=", 11) == 0 && strstr(*environment, "/vgpreload_"))
			in_valgrind = true;
}

struct errand {
	void (*work)(void *context);
	void *context;
	volatile bool done;
};

static void run(void *errand)
{
	struct errand *e = errand;
	self.apart = true; /* the caller's, which waits */
	e->work(e->context);
	self.apart = false;
	e->done = true;
}

enum { HELPER = CLONE_VM | CLONE_VFORK | CLONE_SIGHAND | CLONE_THREAD | CLONE_UNTRACED };

void alone_do(void (*work)(void *context), void *context)
{
	uint64_t signals;
	struct errand e = {work, context, false};
	bool alone = alone_begin(&signals), blocked = alone || sys_block_all_signals(&signals);
	if (!alone && blocked && !in_valgrind)
		alone_clone(HELPER, run, &e);
	if (!e.done)
		work(context);
	if (blocked)
		alone_end(&signals);
}

/* All that could run a handler of the program's. */
static bool block_handled(uint64_t *before)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};
	uint64_t blocked = ~UINT64_C(0);
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
		uint64_t action[4] = {1}; /* the kernel's: first the handler; 0 = the usual end */
		if (sys_call(SYS_rt_sigaction, ending[i], 0, (long)action, sizeof blocked, 0, 0) == 0 && !action[0])
			blocked &= ~(UINT64_C(1) << (ending[i] - 1));
	}
	return sys_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&blocked, (long)before, sizeof blocked, 0, 0) == 0;
}

static bool is_traced(void)
{
	static const char key[] = "TracerPid:\t"; /* in the eighth line */
	char text[320];
	long n = sys_read_file("/proc/self/status", text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	const char *tracer = strstr(text, key);
	return tracer && tracer[sizeof key - 1] != '0';
}

static void run_untraced(void *errand)
{
	if (!is_traced())
		run(errand);
}

void alone_do_long(void (*work)(void *context), void *context)
{
	uint64_t signals;
	struct errand e = {work, context, false};
	bool helped = !self.apart && !in_valgrind && !lock_is_needless() && (lock_is_shared || !has_one_thread()) &&
		      block_handled(&signals);
	if (helped) {
		alone_clone(HELPER, run_untraced, &e);
		sys_restore_all_signals(&signals);
	}
	if (!e.done)
		work(context);
}
