#include "reason.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "logname.h"
#include "program_file.h"

/* A name with a token of the loader's is the loader's to judge. */
bool reason_usable(const char *library)
{
	return strchr(library, '$') || access(library, R_OK) == 0;
}

/* ---- the program ---- */

static bool find_program(const struct reason_task *of, char *path, size_t room)
{
	if (strchr(of->program, '/'))
		return (size_t)snprintf(path, room, "%s", of->program) < room;
	for (const char *at = of->path ? of->path : ""; *at; at += *at == ':') {
		size_t n = strcspn(at, ":");
		snprintf(path, room, "%.*s/%s", (int)n, at, of->program);
		if (access(path, X_OK) == 0)
			return true;
		at += n;
	}
	return false;
}

static ssize_t read_at(int fd, void *to, size_t n, int64_t at)
{
	return pread(fd, to, n, (off_t)at);
}

/* Of a script what executes it. */
static enum program_kind kind_of(char *path, size_t room)
{
	enum { SCRIPTS = 4 };
	char interpreter[PROGRAM_PATH];
	enum program_kind kind = PROGRAM_SCRIPT;
	for (int n = 0; n <= SCRIPTS && kind == PROGRAM_SCRIPT; n++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		kind = fd >= 0 ? program_kind(fd, read_at, interpreter) : PROGRAM_UNKNOWN;
		if (fd >= 0)
			close(fd);
		if (kind == PROGRAM_SCRIPT)
			snprintf(path, room, "%s", interpreter);
	}
	return kind;
}

bool reason_foreign(const struct reason_task *of)
{
	char path[PATH_MAX];
	if (strchr(of->library, '$')) /* each loader finds its own, or none */
		return false;
	enum program_kind kind = find_program(of, path, sizeof path) ? kind_of(path, sizeof path) : PROGRAM_UNKNOWN;
	return kind == PROGRAM_MACHINE || kind == PROGRAM_LIBC;
}

static const char *why_not_program(const struct reason_task *of, char *path, size_t room)
{
	static const char *const kinds[] = {
		[PROGRAM_STATIC] = "a static program: it cannot preload the library",
		[PROGRAM_MACHINE] = "a program of another machine or word size",
		[PROGRAM_LIBC] = "a program of another C library",
	};
	struct stat s;
	if (!find_program(of, path, room) || stat(path, &s) != 0)
		return NULL;
	if ((s.st_mode & S_ISUID && s.st_uid != geteuid()) || (s.st_mode & S_ISGID && s.st_gid != getegid()))
		return "a set-user-id program: its loader ignores the library";
	enum program_kind kind = kind_of(path, room);
	return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : NULL;
}

bool reason_find(const struct reason_task *of, char *why, size_t room)
{
	char path[PATH_MAX];
	const char *reason = NULL;
	if (of->off)
		snprintf(why, room, "off: --iolens=off");
	else if (of->disabled)
		snprintf(why, room, "variable: IOLENS_DISABLE is set in the job's environment");
	else if (logname_opt_out(of->config, of->home, path, sizeof path) && access(path, F_OK) == 0)
		snprintf(why, room, "disabled: by %.400s: iolens enable undoes it", path);
	else if (!reason_usable(of->library))
		snprintf(why, room, "library: %.400s cannot be read on this node", of->library);
	else if ((reason = why_not_program(of, path, sizeof path)))
		snprintf(why, room, "program: %.400s: %s", path, reason);
	else
		return false;
	return true;
}

/* ---- the file ---- */

static void write_file(const struct reason_task *of, const char *logs, const char *why)
{
	char path[PATH_MAX + 512], host[65] = "";
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (of->user)
		setenv("LOGNAME", of->user, 1);
	else
		unsetenv("LOGNAME");
	logname_make(path, sizeof path - sizeof LOGNAME_UNOBSERVED, logs, of->program,
		     now.tv_sec * INT64_C(1000000000) + now.tv_nsec, of->job, getpid());
	char *end = strstr(path, ".darshan");
	gethostname(host, sizeof host - 1);
	if (!end)
		return;
	strcpy(end, LOGNAME_UNOBSERVED);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0)
		return;
	dprintf(fd, "%s (%s)\n", why, host);
	close(fd);
}

void reason_leave(const struct reason_task *of, const char *logs, const char *why)
{
	enum { STEPS = 100, STEP_NS = 10 * 1000 * 1000 };
	const struct timespec step = {0, STEP_NS};
	if (!logs || *logs != '/')
		return;
	pid_t child = fork();
	if (child == 0) {
		write_file(of, logs, why);
		_exit(0);
	}
	for (int n = 0; child > 0 && n < STEPS && waitpid(child, NULL, WNOHANG) == 0; n++)
		nanosleep(&step, NULL);
}
