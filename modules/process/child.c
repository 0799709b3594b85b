/* How children start and end, as their parent sees it. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "blind.h"
#include "life.h"
#include "self.h"
#include "store.h"
#include "wrap.h"

/* A killed process cannot write down how it ended; its parent is told. */
static void note_death(int pid, int signal)
{
	if (!self_ready())
		return;
	struct live *live = store_live();
	int64_t at = __atomic_fetch_add(&live->deaths, 1, __ATOMIC_RELAXED);
	if (at >= LIVE_DEATHS)
		return;
	live->death[at].pid = pid;
	__atomic_store_n(&live->death[at].signal, signal, __ATOMIC_RELEASE);
}

static void note_status(int pid, int status)
{
	if (pid <= 0 || !WIFSIGNALED(status))
		return;
	int saved = errno;
	note_death(pid, WTERMSIG(status));
	errno = saved;
}

#define WAIT(name, parameters, arguments)          \
	WRAP(pid_t, name, UNPACK parameters)       \
	{                                          \
		int own;                           \
		status = status ? status : &own;   \
		pid_t pid = REAL(name) arguments;  \
		if (pid > 0)                       \
			note_status(pid, *status); \
		return pid;                        \
	}
#define UNPACK(...) __VA_ARGS__

WAIT(wait, (int *status), (status))
WAIT(waitpid, (pid_t of, int *status, int options), (of, status, options))
WAIT(wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
WAIT(wait4, (pid_t of, int *status, int options, struct rusage *usage), (of, status, options, usage))

WRAP(int, waitid, idtype_t type, id_t id, siginfo_t *info, int options)
{
	int result = REAL(waitid)(type, id, info, options);
	bool dead = result == 0 && info && info->si_pid > 0 && !(options & WNOWAIT) &&
		    (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED);
	if (dead)
		note_status(info->si_pid, info->si_status & 0x7f);
	return result;
}

WRAP(int, posix_spawn, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	blind_note(AT_FDCWD, path, envp, 0);
	return REAL(posix_spawn)(pid, path, actions, attributes, argv, envp);
}

WRAP(int, posix_spawnp, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	blind_note(AT_FDCWD, file, envp, 1);
	return REAL(posix_spawnp)(pid, file, actions, attributes, argv, envp);
}
