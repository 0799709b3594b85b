#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "ended_stores.h"
#include "preload.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* everywhere; headers before Linux 5.9 lack it */
#endif

enum {
	PATIENCE_MS = 20, /* a sender that goes through the processes of a group or a job is done by then */
	STALE_MS = 5000,  /* what the witness got so long ago belongs to a signal that we got merged with another one */
};

/* What the processes tell each other. */
struct shared {
	int start_error;
	unsigned witnessed[_NSIG];
	int64_t when[_NSIG]; /* ms */
};

struct child {
	pid_t pid;
	pid_t witness;
	int io;        /* its /proc/PID/io, opened while it runs: of a zombie that belongs to root */
	sigset_t mask; /* the caller's */
	struct sigaction on_child;
	struct shared *shared;
	unsigned known[_NSIG]; /* of what the witness got: dealt with */
};

/* ---- signals ---- */

/* Signals that a process causes itself, and those of job control, which are meant for each process of its own. */
static const int never_passed[] = {SIGCHLD, SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT, SIGTRAP, SIGSYS,   SIGPIPE,
				   SIGXFSZ, SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP, SIGKILL, SIGPROF, SIGVTALRM};

static sigset_t awaited_signals(void)
{
	sigset_t set;
	sigfillset(&set);
	for (size_t i = 0; i < sizeof never_passed / sizeof *never_passed; i++)
		sigdelset(&set, never_passed[i]);
	sigaddset(&set, SIGCHLD);
	return set;
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * A terminal, a batch system or `kill -- -GROUP` sends a signal to every process: the command has it already. `kill PID`
 * sends it to us alone, and the command must get it from us. The witness tells the two apart: a process of our group that
 * does nothing but count signals.
 */
static _Noreturn void be_witness(struct shared *shared, pid_t parent)
{
	sigset_t set = awaited_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	syscall(SYS_close_range, 0, ~0u, 0);
	while (getppid() == parent) {
		int signal = sigwaitinfo(&set, NULL);
		if (signal <= 0)
			continue;
		shared->when[signal] = now_ms();
		__atomic_fetch_add(&shared->witnessed[signal], 1, __ATOMIC_RELEASE);
	}
	_exit(0);
}

/* It has got the signal, but not had the time to count it. */
static bool witness_is_late(const struct child *c, int signal)
{
	char path[48], line[128];
	unsigned long long pending = 0;
	snprintf(path, sizeof path, "/proc/%d/status", (int)c->witness);
	FILE *status = fopen(path, "re");
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "ShdPnd: %llx", &pending) == 1)
			break;
	if (status)
		fclose(status);
	return pending >> (signal - 1) & 1;
}

static bool witnessed(struct child *c, int signal)
{
	unsigned seen = __atomic_load_n(&c->shared->witnessed[signal], __ATOMIC_ACQUIRE);
	if (seen != c->known[signal] && now_ms() - c->shared->when[signal] > STALE_MS)
		c->known[signal] = seen;
	if (seen == c->known[signal])
		return false;
	c->known[signal]++;
	return true;
}

static void pass_on(struct child *c, const siginfo_t *info)
{
	int signal = info->si_signo;
	if (info->si_code == SI_KERNEL)
		return;
	for (int ms = 0; c->witness > 0 && (ms < PATIENCE_MS || witness_is_late(c, signal)); ms++) {
		if (witnessed(c, signal))
			return;
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	kill(c->pid, signal);
}

/* ---- start and end ---- */

static struct sigaction on_file_size; /* the caller's */

void child_ignore_file_size(void)
{
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &on_file_size);
}

static void restore_signals(const struct child *c)
{
	sigaction(SIGCHLD, &c->on_child, NULL);
	sigaction(SIGXFSZ, &on_file_size, NULL);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
}

static _Noreturn void become(char **command, const struct session_dir *session, const struct child *c)
{
	restore_signals(c);
	session_dir_environment(session, !preload_refused(preload_kind(command[0])));
	execvp(command[0], command);
	c->shared->start_error = errno;
	_exit(errno == ENOENT ? 127 : 126);
}

/* Where no second process can be had the command takes our place: unobserved, but run. */
static int go_without(char **command, const struct session_dir *session, const struct child *c)
{
	cli_fail(0, "run: cannot start a process: %s: %s runs without observation, no log", strerror(errno),
		 command[0]);
	session_dir_remove(session);
	restore_signals(c);
	execvp(command[0], command);
	int code = errno == ENOENT ? 127 : 126;
	return cli_fail(code, "run: %s: %s", command[0], strerror(errno));
}

static bool prepare(struct child *c)
{
	sigset_t set = awaited_signals();
	sigprocmask(SIG_BLOCK, &set, &c->mask);
	/* Ignored by our caller, it would keep the command's exit code from us. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &c->on_child);
	c->shared = mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return c->shared != MAP_FAILED;
}

/* Above the standard streams, which the caller may have closed. */
static int open_counts(pid_t pid)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
	int io = open(path, O_RDONLY | O_CLOEXEC), above = io < 0 ? -1 : fcntl(io, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (io >= 0)
		close(io);
	return above;
}

static bool start(struct child *c, char **command, const struct session_dir *session)
{
	pid_t self = getpid();
	if (!prepare(c))
		return false;
	c->pid = fork(); /* first: what it waits for is run time */
	if (c->pid == 0)
		become(command, session, c);
	if (c->pid < 0)
		return false;
	c->io = open_counts(c->pid);
	c->witness = fork();
	if (c->witness == 0)
		be_witness(c->shared, self);
	return true;
}

static void raise_limit(int resource)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(resource, &limit);
	}
}

/*
 * Only the command may hold its input and output open: the process at their other end waits for the last holder. And what
 * we open must neither get the number of a standard stream that the caller has closed nor fail by a limit of his.
 */
static void let_go(int *lock, int *io)
{
	unsigned first = STDERR_FILENO + 1;
	int kept = *io < 0 ? -1 : fcntl(*io, F_DUPFD_CLOEXEC, (int)first + 2); /* out of the way */
	*io = kept;
	bool held = *lock == (int)first || (*lock >= 0 && dup3(*lock, (int)first, O_CLOEXEC) >= 0);
	*lock = held ? (int)first++ : -1;
	if (kept >= 0 && dup3(kept, (int)first, O_CLOEXEC) >= 0)
		*io = (int)first++;
	int null = open("/dev/null", O_RDWR);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (fcntl(STDERR_FILENO, F_GETFD) < 0)
		dup2(null, STDERR_FILENO);
	syscall(SYS_close_range, first, ~0u, 0);
	raise_limit(RLIMIT_NOFILE);
	raise_limit(RLIMIT_FSIZE);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
}

static bool has_ended(const struct child *c)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == c->pid;
}

/* The kernel's counts of a process that has ended and was not waited for yet. */
static void read_counts(int fd, int64_t out[STATE_IO_COUNT])
{
	char line[64];
	long long value;
	FILE *io = fd >= 0 ? fdopen(fd, "r") : NULL;
	for (int i = 0; io && i < STATE_IO_COUNT && fgets(line, sizeof line, io); i++)
		if (sscanf(line, "%*s %lld", &value) == 1)
			out[i] = value;
	if (io)
		fclose(io);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void await(struct child *c, struct child_end *end)
{
	sigset_t set = awaited_signals();
	siginfo_t info;
	while (!has_ended(c))
		if (sigwaitinfo(&set, &info) > 0 && info.si_signo != SIGCHLD)
			pass_on(c, &info);
	read_counts(c->io, end->io);
	struct rusage u = {0};
	wait4(c->pid, &end->status, 0, &u);
	end->used = seconds(u.ru_utime) + seconds(u.ru_stime);
}

static void dismiss_witness(const struct child *c)
{
	if (c->witness <= 0)
		return;
	kill(c->witness, SIGKILL);
	waitpid(c->witness, NULL, 0);
}

int child_run(char **command, struct session_dir *session, struct child_end *end)
{
	struct child c = {.io = -1};
	int code = 0;
	if (start(&c, command, session)) {
		session_dir_describe_node(session); /* meanwhile */
		let_go(&session->lock, &c.io);
		ended_stores_begin(session);
		await(&c, end);
		ended_stores_end();
		end->pid = c.pid;
		end->start_error = c.shared->start_error;
	} else {
		code = go_without(command, session, &c);
	}
	dismiss_witness(&c);
	return code;
}

void child_same_end(int status)
{
	fflush(NULL);
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	sigset_t set;
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + WTERMSIG(status));
}
