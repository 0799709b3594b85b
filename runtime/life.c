#include "life.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "arena.h"
#include "clock.h"
#include "config.h"
#include "kernel.h"
#include "mounts.h"
#include "names.h"
#include "own_log.h"
#include "scratch.h"
#include "self.h"
#include "session.h"
#include "store.h"
#include "sys.h"
#include "wrap.h"

enum state { OFF, ON, FORKED };

static struct {
	enum state state;
	int pid;
	bool in_session;
	bool ended;
	bool allowed;
	bool rank;      /* of an MPI job */
	bool silent;    /* a rank that is not to be recorded */
	bool storeless; /* there was no room for its store */
	int argc;
	char **argv, **environment;
	int64_t job;
	struct epoch epoch;
	char command[3016];
} life;

extern const struct life_module *const __start_iolens_modules[], *const __stop_iolens_modules[];

bool life_observed(void)
{
	return __builtin_expect(life.state != OFF && !life.silent, 1);
}

int life_pid(void)
{
	return life.pid;
}

/* ---- start ---- */

/* Arguments joined by blanks. A newline would be taken for a mount entry. */
static void remember_command(int argc, char **argv)
{
	static const char mark[] = "<TRUNCATED>";
	size_t n = 0, room = sizeof life.command - 1;
	for (int i = 0; i < argc && n < room; i++) {
		const char *c = i && filter_hits(&config.mask_args, 0, argv[i]) ? "***" : argv[i];
		if (i)
			life.command[n++] = ' ';
		for (; *c && n < room; c++)
			life.command[n++] = *c == '\n' ? ' ' : *c;
	}
	if (n == room)
		memcpy(life.command + room - (sizeof mark - 1), mark, sizeof mark);
}

static int64_t job_id(char **environment)
{
	const char *name = config.jobid ? config.jobid : "SLURM_JOB_ID";
	const char *value = config_variable(environment, name);
	int job = value ? atoi(value) : 0;
	return job > 0 ? job : sys_pid();
}

static void copy_text(char *to, size_t room, ssize_t got)
{
	to[got > 0 && (size_t)got < room ? (size_t)got : got > 0 ? room - 1 : 0] = '\0';
}

static void fill_process(void)
{
	struct live_process *p = &store_live()->process;
	double now = clock_now();
	p->pid = life.pid;
	p->parent = sys_parent();
	p->start = now;
	p->started = life.epoch.realtime + (int64_t)(now * 1e9);
	p->budget = config.budget;
	p->group_readable = config.group_readable;
	memcpy(p->host, session_host(), sizeof p->host - 1);
	copy_text(p->exe, sizeof p->exe, sys_readlink("/proc/self/exe", p->exe, sizeof p->exe));
	copy_text(p->directory, sizeof p->directory, sys_getcwd(p->directory, sizeof p->directory));
	kernel_io(p->kernel_at_start);
	store_job(getuid(), p->started, life.job, life.command);
}

#define EACH_MODULE(m)                                                                                    \
	for (const struct life_module *const *m = __start_iolens_modules; m < __stop_iolens_modules; m++) \
		if (!(*m)->module || config_module_on((*m)->module))

static bool make_store(void)
{
	life.pid = sys_pid();
	life.ended = false;
	sys_own_read = 0;
	if (!session_store())
		return false;
	fill_process();
	return true;
}

static void on_normal_exit(int status, void *nothing)
{
	(void)nothing;
	life_end(LIVE_END_EXIT, status);
}

static void start_observing(int argc, char **argv, char **environment)
{
	uint64_t before = clock_monotonic();
	life.epoch = session_epoch();
	clock_start(&life.epoch);
	life.job = job_id(environment);
	remember_command(argc, argv);
	life.storeless = !make_store();
	if (life.storeless)
		return;
	self_start();
	self.gate = SELF_OWN;
	EACH_MODULE(m)
		if ((*m)->start)
			(*m)->start();
	self.gate = SELF_NEW;
	on_exit(on_normal_exit, NULL);
	pthread_atfork(NULL, NULL, life_forked);
	store_live()->process.init_time = (double)(clock_monotonic() - before) * 1e-9;
	__atomic_store_n(&life.state, ON, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
	if (getauxval(AT_SECURE))
		return;
	wrap_resolve_all();
	config_load(environment);
	if (config.disable)
		return;
	if (config.dump)
		config_print(STDERR_FILENO);
	if (argc > 0 && filter_leaves_out(&config.app, 0, argv[0]))
		return;
	life.allowed = true;
	life.argc = argc;
	life.argv = argv;
	life.environment = environment;
	life.in_session = session_join();
	if (life.in_session || config.nonmpi)
		start_observing(argc, argv, environment);
}

/* ---- MPI ---- */

bool life_forbidden(void)
{
	return !life.allowed;
}

bool life_is_rank(void)
{
	return life.rank && sys_pid() == life.pid;
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

/* What was recorded while nobody knew which rank this is goes; the process itself stays in its store. */
static void fall_silent(void)
{
	life.silent = true;
	self.gate = SELF_NEW;
	store_forget();
}

void life_join_world(const struct life_world *w)
{
	if (!life.allowed)
		return;
	if (!life.in_session)
		session_enter_world(w->meeting);
	if (rank_left_out(w->rank) && life.state == OFF)
		return;
	if (life.state == OFF && !life.pid)
		start_observing(life.argc, life.argv, life.environment);
	if (!life_wake())
		return;
	struct live_process *p = &store_live()->process;
	p->mpi_rank = w->rank;
	p->mpi_world = w->id;
	p->mpi_start = clock_now();
	memcpy(p->mpi, w->mpi, strnlen(w->mpi, sizeof p->mpi - 1));
	__atomic_store_n(&p->mpi_size, w->size, __ATOMIC_RELEASE);
	life.rank = true;
	if (rank_left_out(w->rank))
		fall_silent();
}

enum life_keeping life_leave_world(void)
{
	if (life.state != ON || !life.rank || sys_pid() != life.pid)
		return LIFE_NONE;
	store_live()->process.mpi_end = clock_now();
	if (life.in_session)
		return LIFE_SESSION;
	life_end(LIVE_END_FINALIZE, 0);
	life.state = OFF;
	return LIFE_STORE;
}

/* ---- fork ---- */

void life_forked(void)
{
	if (life.state == OFF)
		return;
	life.rank = false;
	life.state = life.in_session || config.nonmpi ? FORKED : OFF;
	self_reset();
}

static bool restart(void)
{
	arena_reset();
	scratch_reset();
	EACH_MODULE(m)
		if ((*m)->fork_save)
			(*m)->fork_save();
	names_reset();
	if (!make_store())
		return false;
	store_live()->process.forked = 1;
	mounts_reset();
	EACH_MODULE(m)
		if ((*m)->fork_restore)
			(*m)->fork_restore();
	return true;
}

bool life_wake(void)
{
	if (life.state == FORKED)
		life.state = restart() ? ON : OFF;
	return life.state == ON;
}

/* ---- end ---- */

/* A process that cannot be asked at its end is asked now; how it ends, its parent will tell. */
void life_confine(bool no_clock)
{
	bool foreign = life.state == ON && sys_pid() != life.pid; /* child of a vfork: the memory is its parent's */
	if (life.state == OFF || sys_confined || foreign)
		return;
	if (life.state == ON && self_ready())
		kernel_io(store_live()->process.kernel_at_end);
	sys_confined = true;
	if (no_clock)
		self.gate = SELF_OWN;
}

void life_end(enum live_end reason, int code)
{
	if (life.state != ON || sys_pid() != life.pid || life.ended)
		return;
	EACH_MODULE(m)
		if ((*m)->end)
			(*m)->end();
	uint32_t saved = self.gate;
	self.gate = SELF_OWN;
	struct live_process *p = &store_live()->process;
	kernel_io(p->kernel_at_end);
	p->own_read = sys_own_read;
	p->end = clock_now();
	p->ended = life.epoch.realtime + (int64_t)(p->end * 1e9);
	p->exit_code = code;
	__atomic_store_n(&p->end_reason, reason, __ATOMIC_RELEASE);
	life.ended = true;
	if (life.in_session && reason != LIVE_END_EXEC) /* which may fail: the next program of the process does it */
		session_deliver();
	else if (!life.in_session && !life.rank)
		own_log_write(&life.epoch, life.job);
	self.gate = saved;
}

void life_go_on(void)
{
	if (life.state != ON || sys_pid() != life.pid || !life.ended)
		return;
	struct live_process *p = &store_live()->process;
	p->end_reason = LIVE_END_NONE;
	life.ended = false;
	if (!life.in_session && !life.rank)
		own_log_withdraw();
}
