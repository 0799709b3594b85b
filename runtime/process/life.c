#include "life.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "arena.h"
#include "thread.h"
#include "clock.h"
#include "config.h"
#include "confined.h"
#include "ending.h"
#include "folded.h"
#include "kernel.h"
#include "lock.h"
#include "logname.h"
#include "mounts.h"
#include "names.h"
#include "own_log.h"
#include "own_stack.h"
#include "scratch.h"
#include "self.h"
#include "session.h"
#include "site.h"
#include "store.h"
#include "surroundings.h"
#include "sys.h"
#include "warn.h"
#include "wrap.h"

enum state { OFF, ASLEEP, ON }; /* ASLEEP: observed, and nothing to be recorded has happened */

/*
 * Written at the start by the one thread that there is, or by the one in MPI_Init that starts to observe; then by the only thread
 * that has its turn (self_take_turn). `state` is atomic for all others. `rank` and `silent` become true once, in
 * MPI_Init; `exits` and its code are written by the one thread in exit().
 */
static struct {
	enum state state;
	bool in_session;
	bool exits; /* by exit(), whose code is: */
	int exit_code;
	bool behind; /* another iolens observes this process */
	bool allowed;
	bool asked;     /* whether the user wants it */
	bool rank;      /* of an MPI job */
	bool silent;    /* a rank that is not to be recorded */
	bool storeless; /* there was no room for its store */
	int argc;
	char **argv, **environment;
	int64_t job;
	struct epoch epoch;
	bool begun;     /* the modules */
	bool laid_down; /* its store, of which nothing is mapped while it is asleep */
	int missed;     /* how often its store could not be mapped, */
	int left;       /* and operations until it is tried again */
	struct store_owner owner;
} life AT_START;

/* Hidden: the bounds of our section are no names for other libraries to find. */
__attribute__((visibility("hidden"))) extern const struct life_module *const __start_iolens_modules[],
	*const __stop_iolens_modules[];

/* One thread changes it while others ask: at the first operation. */
static enum state state(void)
{
	return __atomic_load_n(&life.state, __ATOMIC_ACQUIRE);
}

static bool observed(void)
{
	return __builtin_expect(state() != OFF && !life.silent, 1);
}

/* ---- start ---- */

static void copy_text(char *to, size_t room, ssize_t got)
{
	to[got > 0 && (size_t)got < room ? (size_t)got : got > 0 ? room - 1 : 0] = '\0';
}

/* What is known only when it begins. */
static void begin_process(void)
{
	struct state_process *p = &life.owner.process;
	*p = (struct state_process){
		.pid = self_owner, .budget = config.budget, .group_readable = config.group_readable};
	p->start = clock_now();
	p->started = life.epoch.realtime + (int64_t)(p->start * 1e9);
	copy_text(p->directory, sizeof p->directory, sys_getcwd(p->directory, sizeof p->directory));
	kernel_begin(p);
	life.owner.user = getuid();
	life.owner.job = life.job;
}

static void complete_process(void)
{
	struct state_process *p = &life.owner.process;
	p->parent = sys_parent();
	p->pid_namespace = kernel_pid_namespace();
	if (!p->parent)
		kernel_outside(&p->pid_outside, &p->parent_outside);
	memcpy(p->host, session_host(), sizeof p->host - 1);
	copy_text(p->exe, sizeof p->exe, sys_readlink("/proc/self/exe", p->exe, sizeof p->exe));
}

static bool make_store(bool laid_down)
{
	ending_none();
	session_settle_counter(&life.epoch);
	if (!session_store(&life.owner, laid_down))
		return false;
	struct state_trace *trace = &store_state()->trace;
	trace->compact = config.trace_compact;
	trace->small = config.trace_small;
	trace->unaligned = config.trace_unaligned;
	return true;
}

#define EACH_MODULE(m)                                                                                    \
	for (const struct life_module *const *m = __start_iolens_modules; m < __stop_iolens_modules; m++) \
		if (!(*m)->module || config_module_on((*m)->module))

/* Of a preloaded library this is called behind all destructors, of one in the program before them. */
static void on_normal_exit(int status, void *nothing)
{
	(void)nothing;
	life.exit_code = status;
	life.exits = true;
	if (!resolve_in_program())
		life_end(STATE_END_EXIT, status);
}

__attribute__((destructor)) static void on_last_destructor(void)
{
	if (resolve_in_program() && life.exits)
		life_end(STATE_END_EXIT, life.exit_code);
}

/* Most programs that do nothing end without more than this. */
static bool lay_down(void)
{
	complete_process();
	return life.laid_down = session_lay_down(&life.owner);
}

/* By one process of each node, never by all: where `iolens run` is, it does. */
static void describe_node(void)
{
	uint64_t gate = self_work();
	own_stack_call(OWN_STACK_LOG, surroundings_describe, life.environment);
	self.gate = gate;
}

static void start_observing(int argc, char **argv, char **environment)
{
	int64_t before = sys_monotonic();
	life.epoch = session_epoch();
	clock_start(&life.epoch);
	if (!life.in_session)
		logname_remember_zone(life.epoch.realtime, config_variable(environment, "TZ"));
	life.environment = environment = surroundings_keep(environment);
	int64_t job = surroundings_job(environment, config.jobid);
	life.job = job > 0 ? job : sys_pid();
	life.owner.command = surroundings_command(argc, argv);
	lock_identify();
	self_own();
	session_collect(SESSION_START); /* it may make room, and what it reads and writes is not the program's */
	sys_own_read = 0;
	begin_process();
	life.storeless = life.in_session && !lay_down();
	if (life.storeless)
		return;
	static const struct self_life above = {observed, life_wake, kernel_end_thread};
	self_start(&above);
	names_start(environment);
	on_exit(on_normal_exit, NULL);
	pthread_atfork(NULL, life_share, self_admit_none);
	life.owner.process.init_time = (double)(sys_monotonic() - before) * 1e-9;
	__atomic_store_n(&life.state, ASLEEP, __ATOMIC_RELEASE);
	self_sleep();
	if (session_is_elsewhere() && self_ready() && session_first_of_node())
		describe_node();
}

/* Asked of the file system once, and only of a program that would be observed without `iolens run`. */
static bool is_allowed(void)
{
	if (life.allowed && !life.asked && !life.in_session)
		life.allowed = !surroundings_opted_out(life.environment);
	life.asked = true;
	return life.allowed;
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
	if (getauxval(AT_SECURE))
		return;
	lock_start();
	warn_start();
	resolve_start();
	life.behind = resolve_behind();
	config_load(environment);
	if (config.dump && !life.behind)
		config_print(warn_write);
	if (config.disable || life.behind)
		return;
	if (argc > 0 && filter_leaves_out(&config.app, 0, argv[0]))
		return;
	life.allowed = true;
	life.argc = argc;
	life.argv = argv;
	life.environment = environment;
	life.in_session = session_join();
	if (life.in_session || (config.nonmpi && is_allowed()))
		start_observing(argc, argv, environment);
}

/* ---- MPI ---- */

bool life_forbidden(void)
{
	return !is_allowed();
}

bool life_behind(void)
{
	return life.behind;
}

bool life_is_rank(void)
{
	return life.rank && self_is_owner();
}

bool life_storeless(void)
{
	return life.storeless;
}

bool life_in_session(void)
{
	return life.in_session;
}

int64_t life_job(void)
{
	return life.job;
}

const struct epoch *life_epoch(void)
{
	return &life.epoch;
}

static bool rank_left_out(int64_t rank)
{
	return filter_hits_number(&config.rank.exclude, rank) && !filter_hits_number(&config.rank.include, rank);
}

/* What was recorded before the rank was known goes; the process itself stays in its store. */
static void fall_silent(void)
{
	life.silent = true;
	self_admit_none();
	store_forget();
}

/* One that is still asleep is left alone for good. */
static void give_up_waking(void)
{
	if (self_asleep() && self_is_owner()) {
		__atomic_store_n(&life.state, OFF, __ATOMIC_RELEASE);
		self_admit_none();
	}
}

void life_join_world(const struct life_world *w)
{
	if (!is_allowed())
		return;
	if (!life.in_session)
		session_enter_world(w->meeting);
	if (rank_left_out(w->rank) && state() == OFF)
		return;
	if (state() == OFF && !self_owner)
		start_observing(life.argc, life.argv, life.environment);
	if (!self_ready()) {
		give_up_waking();
		return;
	}
	struct state_process *p = &store_state()->process;
	p->mpi_rank = w->rank;
	p->mpi_world = w->id;
	p->mpi_start = clock_now();
	memcpy(p->mpi, w->mpi, strnlen(w->mpi, sizeof p->mpi - 1));
	__atomic_store_n(&p->mpi_size, w->size, __ATOMIC_RELEASE);
	life.rank = true;
	if (rank_left_out(w->rank))
		fall_silent();
	else if (w->local_rank == 0)
		describe_node();
}

enum life_keeping life_leave_world(void)
{
	if (state() != ON || !life.rank || !self_is_owner())
		return LIFE_NONE;
	store_state()->process.mpi_end = clock_now();
	if (life.in_session)
		return LIFE_SESSION;
	life_end(STATE_END_FINALIZE, 0);
	__atomic_store_n(&life.state, OFF, __ATOMIC_RELEASE);
	self_admit_none();
	return LIFE_STORE;
}

/* ---- fork ---- */

/* The child may move the offsets of descriptors that it inherits: from now on this process asks the kernel for them. */
void life_share(void)
{
	if (state() == ON && self_pass())
		EACH_MODULE(m)
			if ((*m)->fork_share)
				(*m)->fork_share();
}

/* Its parent counts a child that can make none: no other process knows of it. */
static bool make_own_store(void)
{
	int64_t *lost = store_state() ? store_hold(&store_state()->process.lost_children) : NULL;
	self_own();
	session_collect(SESSION_FORKED);
	sys_own_read = sys_own_written = 0;
	begin_process();
	complete_process();
	life.owner.process.forked = 1;
	bool made = make_store(false);
	if (!made && lost)
		__atomic_fetch_add(lost, 1, __ATOMIC_RELAXED);
	store_let_go(lost);
	return made;
}

static bool restart(void)
{
	arena_reset();
	scratch_reset();
	EACH_MODULE(m)
		if ((*m)->fork_save)
			(*m)->fork_save();
	names_reset();
	folded_reset();
	site_reset();
	if (!make_own_store())
		return false;
	mounts_reset();
	EACH_MODULE(m)
		if ((*m)->fork_restore)
			(*m)->fork_restore();
	return true;
}

/* At the first waking. In a forked child of a process that was asleep they start as in a process of its own. */
static void start_modules(void)
{
	if (!life.begun)
		EACH_MODULE(m)
			if ((*m)->start)
				(*m)->start();
	life.begun = true;
}

/* The first operation of a forked child, while other threads of it wait. */
static void become_own(void)
{
	life.rank = false;
	lock_next_process();
	self.shard = NULL;
	bool own = (life.in_session || config.nonmpi) && restart();
	if (own)
		start_modules();
	__atomic_store_n(&life.state, own ? ON : OFF, __ATOMIC_RELEASE);
	if (own)
		self_admit_all();
}

/* Descriptors or memory may be had again: by the next operation, then ever more seldom, in the end at each 64th. */
static void miss(void)
{
	enum { SELDOM = 6 };
	life.left = (1 << life.missed) - 1;
	life.missed += life.missed < SELDOM;
}

/* A process that is asleep when its turn has come, and not by the child of a vfork, whose memory is its parent's. */
static bool may_wake(void)
{
	return !self_asleep() || (self_is_owner() && life.left-- <= 0);
}

/* The first operation of all. */
static void rise(void)
{
	int64_t before = sys_monotonic();
	if (!life.laid_down)
		complete_process();
	life.storeless = !make_store(life.laid_down);
	if (life.storeless) {
		miss();
		return;
	}
	__atomic_store_n(&life.state, ON, __ATOMIC_RELEASE);
	start_modules();
	store_state()->process.init_time += (double)(sys_monotonic() - before) * 1e-9;
	self_admit_all();
}

static void wake(void *nothing)
{
	(void)nothing;
	if (self_asleep()) {
		rise();
	} else {
		resolve_forked();
		become_own();
	}
}

static void wake_alone(void *nothing)
{
	alone_do_long(wake, nothing);
}

/*
 * Without a pass, the process is asleep, or the one that observation was started in is our parent. The first operation may be that
 * of a handler on an alternate stack that has little more than the kernel's frame.
 */
bool life_wake(void)
{
	if (!self_pass() && state() != OFF && !life.silent && self_take_turn()) {
		if (!self_pass() && state() != OFF && may_wake() && !own_stack_call(OWN_STACK_WAKE, wake_alone, NULL))
			miss();
		self_end_turn();
	}
	return state() == ON && self_pass();
}

/* ---- end ---- */

/* A process that cannot be asked at its end is asked now; how it ends, its parent will tell. */
void life_confine(bool no_clock)
{
	if (self_asleep())
		self_ready();
	bool forked = !self_pass();
	bool foreign = (!forked || self_asleep()) && !self_is_owner(); /* child of a vfork: its parent's memory */
	if (state() == OFF || sys_confined || foreign)
		return;
	if (!forked && self_ready())
		confined_prepare();
	give_up_waking();
	sys_confined = true;
	if (no_clock)
		self.gate = SELF_OWN;
}

/* A child that only used what it had inherited makes no call that would wake it. */
static void wake_touched(void)
{
	bool touched = false;
	if (state() == OFF || life.silent || self_pass() || self_asleep())
		return;
	EACH_MODULE(m)
		touched = touched || ((*m)->touched && (*m)->touched());
	if (touched)
		self_ready();
}

void (*life_on_rank_end)(void);

static const double SHORT_LIFE = 0.1 /* s */;

static void tell_end(struct state_process *p, enum state_end reason, int code)
{
	kernel_account(p, clock_now() - p->start < SHORT_LIFE);
	p->end = clock_now();
	p->ended = life.epoch.realtime + (int64_t)(p->end * 1e9);
	p->exit_code = code;
	__atomic_store_n(&p->end_reason, reason, __ATOMIC_RELEASE);
}

static void log_and_collect(void *by)
{
	enum state_end reason = *(enum state_end *)by;
	if (own_log_wanted()) {
		surroundings_describe(life.environment);
		own_log_write(&life.epoch, life.job);
	} else {
		session_drop_store();
	}
	if (reason != STATE_END_EXEC)
		session_collect(SESSION_END);
}

static void end_alone(void *by)
{
	alone_do_long(log_and_collect, by);
}

/*
 * Nothing was recorded. A process of a session reports its end; one alone reports nothing, unless it did I/O that is not seen, or
 * a setting names its log.
 */
static void end_asleep(enum state_end reason, int code)
{
	struct state_process *p = &life.owner.process;
	uint64_t saved = self_work();
	tell_end(p, reason, code);
	if (life.in_session) {
		p->own_moved[IO_WRITE] += sizeof *p; /* by the next line */
		session_retell(&life.owner);
	}
	self.gate = saved;
	if (!life.in_session && (config.logfile || kernel_moved_much(p->kernel_at_start, p->kernel_at_end)))
		self_ready();
}

static void record_end(enum state_end reason, int code)
{
	lock_identify();
	EACH_MODULE(m)
		if ((*m)->end)
			(*m)->end();
	self_count_clock_jumps();
	uint64_t saved = self_work();
	tell_end(&store_state()->process, reason, code);
	if (life.in_session && reason != STATE_END_EXEC) /* which may fail: the next program of the process does it */
		session_deliver();
	else if (!life.in_session && !life.rank)
		own_stack_call(OWN_STACK_LOG, end_alone, &reason);
	else if (!life.in_session && life_on_rank_end && (reason == STATE_END_EXIT || reason == STATE_END_QUICK))
		life_on_rank_end();
	self.gate = saved;
}

/* What is recorded is the exec of another thread, which may fail. A log of the process itself is there, and stays. */
static bool is_recorded_anew(enum state_end reason)
{
	return reason != STATE_END_EXEC && (life.in_session || life.rank) &&
	       __atomic_load_n(&store_state()->process.end_reason, __ATOMIC_ACQUIRE) == STATE_END_EXEC;
}

void life_end(enum state_end reason, int code)
{
	/* Before an exec one alone is the next program's beginning, but for what it did unseen. */
	if (self_asleep() && self_is_owner()) {
		if (reason != STATE_END_EXEC)
			end_asleep(reason, code);
		else if (life.in_session ||
			 (!config.logfile && kernel_moved_much_since(life.owner.process.kernel_at_start)))
			self_ready();
	}
	wake_touched();
	if (state() != ON || !self_is_owner())
		return;
	enum ending ending = ending_begin();
	bool first = ending == ENDING_FIRST;
	if (!first && (ending == ENDING_BUSY || !is_recorded_anew(reason) || !ending_begin_anew()))
		return;
	if (first || is_recorded_anew(reason))
		record_end(reason, code);
	ending_recorded();
}

void life_rouse(void)
{
	if (!self_pass())
		self_ready();
}

void life_go_on(void)
{
	if (state() != ON || !self_is_owner() || !ending_take_back())
		return;
	struct state_process *p = &store_state()->process;
	p->end_reason = STATE_END_NONE;
	if (!life.in_session && !life.rank)
		own_log_withdraw();
	ending_none();
}
