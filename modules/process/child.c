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
 * The kernel adds what a child has read and written to its parent's count as the parent's wait returns: with what observed
 * children have counted themselves, that leaves what the others moved. With other threads at work it is unknown.
 */
struct waiting {
	bool alone;
	int64_t before[STATE_IO_COUNT];
};

extern char __libc_single_threaded __attribute__((weak));

/* Supervisors ask again and again: the counts are read where a child has ended, which costs a system call to know. */
static bool has_ended(idtype_t type, id_t id, int options)
{
	siginfo_t info = {.si_pid = 0};
	int kinds = options & (__WALL | __WCLONE | __WNOTHREAD);
	long code = sys_call(SYS_waitid, type, id, (long)&info, WEXITED | WNOHANG | WNOWAIT | kinds, 0, 0);
	return code == 0 ? info.si_pid != 0 : code != -ECHILD;
}

static struct waiting begin_waiting(idtype_t type, id_t id, int options)
{
	struct waiting w = {.alone = false};
	if (&__libc_single_threaded && __libc_single_threaded && !sys_confined && self_ready() && !fds_foreign() &&
	    (!(options & WNOHANG) || has_ended(type, id, options))) {
		w.alone = true;
		kernel_io(w.before);
	}
	return w;
}

/* As waitpid() names children. */
static struct waiting begin_waiting_for(pid_t of, int options)
{
	if (of == -1)
		return begin_waiting(P_ALL, 0, options);
	return begin_waiting(of > 0 ? P_PID : P_PGID, of > 0 ? (id_t)of : -(id_t)of, options);
}

/* A child that has ended may have renamed the working directory. */
static void end_waiting(const struct waiting *w, bool child)
{
	int64_t after[STATE_IO_COUNT];
	if (child) {
		names_directory_changing();
		names_directory_changed();
	}
	if (!w->alone || !child || !self_ready())
		return;
	kernel_io(after);
	for (int i = 0; i < STATE_IO_COUNT && after[STATE_IO_READS]; i++)
		store_state()->process.waited[i] += after[i] - w->before[i];
}

#define WAIT(name, parameters, arguments, of, options)                 \
	WRAP(pid_t, name, UNPACK parameters)                           \
	{                                                              \
		int own;                                               \
		struct waiting w = begin_waiting_for((of), (options)); \
		status = status ? status : &own;                       \
		pid_t pid = REAL(name) arguments;                      \
		end_waiting(&w, pid > 0);                              \
		if (pid > 0)                                           \
			add_status(pid, *status);                      \
		return pid;                                            \
	}
#define UNPACK(...) __VA_ARGS__

WAIT(wait, (int *status), (status), -1, 0)
WAIT(waitpid, (pid_t of, int *status, int options), (of, status, options), of, options)
WAIT(wait3, (int *status, int options, struct rusage *usage), (status, options, usage), -1, options)
WAIT(wait4, (pid_t of, int *status, int options, struct rusage *usage), (of, status, options, usage), of, options)

WRAP(int, waitid, idtype_t type, id_t id, siginfo_t *info, int options)
{
	struct waiting w = begin_waiting(type, id, options);
	int result = REAL(waitid)(type, id, info, options);
	end_waiting(&w, result == 0 && info && info->si_pid > 0 && !(options & WNOWAIT));
	bool dead = result == 0 && info && info->si_pid > 0 && !(options & WNOWAIT) &&
		    (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED);
	if (dead)
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
