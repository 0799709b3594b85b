#include "child.h"

#include <errno.h>
#include <fcntl.h>
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

enum { START_MS = 10000, END_MS = 30000, LINE = 256 };

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

/* In a session of its own: signals for the job's processes are none for it. It is asked to end, also by our death, by SIGUSR2. */
static _Noreturn void become(const char *path, const struct session_dir *session, pid_t root, int output)
{
	char epoch[EPOCH_TEXT], number[16];
	epoch_print(&session->epoch, session->host, epoch);
	snprintf(number, sizeof number, "%d", (int)root);
	prctl(PR_SET_PDEATHSIG, SIGUSR2);
	setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	unsetenv("LD_PRELOAD");
	execl(path, "iolens-kernel", session->path, epoch, number, (char *)NULL);
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
	cli_fail(0, "run: --kernel: %s: programs that cannot be preloaded are not observed", why);
	return 0;
}

pid_t kernel_companion_begin(const struct session_dir *session)
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
	if (heard && !strcmp(line, "ready"))
		return pid;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
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
		cli_fail(0,
			 "run: --kernel: the companion was killed: what it saw in its last second is not in the log");
}
