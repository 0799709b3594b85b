#include "kernel_companion.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "outside.h"

enum { START_MS = 30000, END_MS = 30000, LINE = 256 };

/* Beside this program, or in its place in the build folder. */
static bool find(char *path, size_t room)
{
	static const char *const places[] = {"iolens-kernel", "../kernel/iolens-kernel", "../libexec/iolens-kernel"};
	char self[3072];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(self, '/');
	if (!slash)
		return false;
	for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
		snprintf(path, room, "%.*s/%s", (int)(slash - self), self, places[p]);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

bool kernel_companion_is_installed(void)
{
	char path[4096];
	return find(path, sizeof path);
}

/* In a session of its own: signals for the job's processes are none for it. It is asked to end, also by our death, by SIGUSR2. */
static _Noreturn void become(const char *path, const struct session_dir *session, pid_t root, int output)
{
	char number[16];
	snprintf(number, sizeof number, "%d", (int)root);
	prctl(PR_SET_PDEATHSIG, SIGUSR2);
	setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	unsetenv("LD_PRELOAD");
	execl(path, "iolens-kernel", session->path, number, (char *)NULL);
	_exit(1);
}

/* The first line it says; false: it has ended without one, or the time has. */
static bool hear(int said, char line[LINE])
{
	size_t used = 0;
	struct pollfd more = {said, POLLIN, 0};
	while (used < LINE - 1 && poll(&more, 1, START_MS) > 0 && read(said, line + used, 1) == 1 && line[used] != '\n')
		used++;
	bool heard = line[used] == '\n';
	line[used] = '\0';
	return heard;
}

static pid_t go_without(const char *why)
{
	cli_fail(0, "run: --kernel: %s: for programs that cannot preload, the log has only totals from /proc", why);
	return 0;
}

/* "ready EPOCH": the session's time begins there. */
static bool is_ready(const char *line, struct session_dir *session)
{
	static const char word[] = "ready ";
	bool usable = session->epoch.counter;
	struct epoch epoch;
	if (strncmp(line, word, sizeof word - 1) != 0 || !epoch_parse(&epoch, line + sizeof word - 1, session->host))
		return false;
	session->epoch = epoch;
	session->epoch.counter = usable ? epoch.counter : 0;
	return true;
}

/* What was waited for is no part of the command's run. */
static void begin_now(struct session_dir *session)
{
	struct epoch now = epoch_now();
	session->epoch.realtime = now.realtime;
	session->epoch.monotonic = now.monotonic;
	session->epoch.counter = session->epoch.counter ? now.counter : 0;
}

pid_t kernel_companion_begin(struct session_dir *session)
{
	char path[4096], line[LINE] = "";
	int output[2];
	pid_t self = getpid();
	if (!find(path, sizeof path))
		return go_without("iolens-kernel is not installed");
	if (pipe2(output, O_CLOEXEC) != 0)
		return go_without(strerror(errno));
	pid_t pid = fork();
	if (pid == 0)
		become(path, session, self, output[1]);
	close(output[1]);
	bool heard = pid > 0 && hear(output[0], line);
	close(output[0]);
	if (heard && is_ready(line, session))
		return pid;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	begin_now(session);
	return go_without(heard ? line : "iolens-kernel does not start");
}

/* False: it is still there. */
static bool ends_in_time(pid_t companion, int *status)
{
	for (int ms = 0; ms < END_MS; ms++) {
		if (waitpid(companion, status, WNOHANG))
			return true;
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	return false;
}

void kernel_companion_end(pid_t companion)
{
	int status = 0;
	if (!companion)
		return;
	kill(companion, SIGUSR2);
	if (!ends_in_time(companion, &status)) {
		kill(companion, SIGKILL);
		waitpid(companion, &status, 0);
	}
	if (!WIFEXITED(status))
		cli_fail(0, "run: --kernel: iolens-kernel was killed: the log lacks its last second");
}

/* ---- where it cannot be had ---- */

static void describe(struct state_process *p, char **command, const struct session_dir *session,
		     const struct child_end *end)
{
	struct epoch now = epoch_now();
	char exe[PATH_MAX];
	p->pid = end->pid;
	p->parent = getpid();
	p->observer = STATE_BY_TOTALS;
	p->started = session->epoch.realtime;
	p->end = (double)(now.monotonic - session->epoch.monotonic) * 1e-9;
	p->ended = now.realtime;
	if (WIFEXITED(end->status)) {
		p->end_reason = STATE_END_EXIT;
		p->exit_code = WEXITSTATUS(end->status);
	}
	snprintf(p->host, sizeof p->host, "%.63s", session->host);
	snprintf(p->exe, sizeof p->exe, "%.511s", realpath(command[0], exe) ? exe : command[0]);
}

static void join(char **command, char *text, size_t room)
{
	size_t used = 0;
	for (char **word = command; *word && used < room; word++)
		used += (size_t)snprintf(text + used, room - used, "%s%s", word == command ? "" : " ", *word);
	for (char *c = text; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
}

bool kernel_totals_write(char **command, const struct session_dir *session, const struct child_end *end)
{
	char path[512], beside[512], text[3016] = "";
	struct outside_store s;
	snprintf(path, sizeof path, "%.255s/%.64s.%d.0.store", session->path, session->host, (int)end->pid);
	snprintf(beside, sizeof beside, "%.255s/.totals", session->path);
	if (!outside_begin(&s, 0, 0))
		return false;
	describe(&s.row->process, command, session, end);
	join(command, text, sizeof text);
	outside_finish(&s, (int64_t)getuid(), end->pid, text, false);
	bool good = outside_write(&s, beside, path);
	outside_free(&s);
	return good;
}
