/* How children start and end, as their parent sees it. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "fds.h"
#include "kernel.h"
#include "untraced.h"
#include "life.h"
#include "names.h"
#include "self.h"
#include "store.h"
#include "sys.h"
#include "wrap.h"

/* A killed process cannot record how it ended; its parent can. */
static void add_death(int pid, int signal)
{
	if (!self_ready())
		return;
	struct process_state *state = store_state();
	int64_t at = __atomic_fetch_add(&state->deaths, 1, __ATOMIC_RELAXED);
	if (at < 0 || at >= STATE_DEATHS)
		return;
	state->death[at].pid = pid;
	__atomic_store_n(&state->death[at].signal, signal, __ATOMIC_RELEASE);
}

static void add_status(int pid, int status)
{
	if (pid <= 0 || !WIFSIGNALED(status))
		return;
	int saved = errno;
	add_death(pid, WTERMSIG(status));
	errno = saved;
}

/*
 * What children have moved, less what the observed ones have counted themselves, leaves what the others moved. Of a process with more
 * threads it is unknown: those that end add theirs. The first children are asked about one by one, later ones, of shells that start
 * thousands, together: every PAUSE, which is what a killed process may lack, and at the end.
 */
enum { ONE_BY_ONE = 32 };
static const double PAUSE = 0.01; /* s */

/* Written by the one thread that there is. A forked child has a copy of its parent's, with the parent's number. */
static struct {
	int64_t pid;                    /* of the process that it is about */
	bool known;                     /* the kernel has answered at the first wait: */
	int64_t before[STATE_IO_COUNT]; /* by children until then, as of a program that became this one */
	int64_t children;               /* that have ended since, */
	bool due;                       /* the last of them not asked about yet */
	double asked;                   /* s, when it was asked last */
} waits;

static bool waits_alone(void)
{
	return lock_is_needless() && !sys_confined && self_ready() && !fds_foreign();
}

static void before_wait(void)
{
	if (!waits_alone() || waits.pid == store_state()->process.pid)
		return;
	waits.pid = store_state()->process.pid;
	waits.known = kernel_io_of_children(waits.before);
	waits.due = false;
	waits.children = 0;
	waits.asked = 0;
}

/* A handler may wait for a child meanwhile, and have the newer answer. */
static void ask(void)
{
	int64_t now[STATE_IO_COUNT], children = waits.children;
	waits.due = false;
	waits.asked = clock_now();
	if (!kernel_io_of_children(now) || children != waits.children)
		return;
	for (int i = 0; i < STATE_IO_COUNT; i++)
		store_state()->process.waited[i] = now[i] - waits.before[i];
}

/* A child that has ended may have renamed the working directory. */
static void child_ended(void)
{
	names_directory_changing();
	names_directory_changed();
	if (!waits_alone() || !waits.known || waits.pid != store_state()->process.pid)
		return;
	waits.due = true;
	if (++waits.children <= ONE_BY_ONE || clock_now() - waits.asked >= PAUSE)
		ask();
}

static void end(void)
{
	if (waits.due && waits_alone() && waits.pid == store_state()->process.pid)
		ask();
}

LIFE_MODULE(children, .end = end);

#define WAIT(name, parameters, arguments)         \
	WRAP(pid_t, name, UNPACK parameters)      \
	{                                         \
		int own;                          \
		before_wait();                    \
		status = status ? status : &own;  \
		pid_t pid = REAL(name) arguments; \
		if (pid > 0) {                    \
			child_ended();            \
			add_status(pid, *status); \
		}                                 \
		return pid;                       \
	}
#define UNPACK(...) __VA_ARGS__

WAIT(wait, (int *status), (status))
WAIT(waitpid, (pid_t of, int *status, int options), (of, status, options))
WAIT(wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
WAIT(wait4, (pid_t of, int *status, int options, struct rusage *usage), (of, status, options, usage))

WRAP(int, waitid, idtype_t type, id_t id, siginfo_t *info, int options)
{
	before_wait();
	int result = REAL(waitid)(type, id, info, options);
	bool ended = result == 0 && info && info->si_pid > 0 && !(options & WNOWAIT);
	if (ended)
		child_ended();
	if (ended && (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED))
		add_status(info->si_pid, info->si_status & 0x7f);
	return result;
}

/* The program that is started may move the offsets of what it inherits. */
static void share(void)
{
	int saved = errno;
	life_share();
	errno = saved;
}

WRAP(int, system, const char *command)
{
	if (command)
		share();
	return REAL(system)(command);
}

WRAP(int, posix_spawn, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	if (untraced_record(AT_FDCWD, path, envp, 0))
		envp = (char **)WITHOUT_US(envp);
	share();
	return REAL(posix_spawn)(pid, path, actions, attributes, argv, envp);
}

WRAP(int, posix_spawnp, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	if (untraced_record(AT_FDCWD, file, envp, 1))
		envp = (char **)WITHOUT_US(envp);
	share();
	return REAL(posix_spawnp)(pid, file, actions, attributes, argv, envp);
}
