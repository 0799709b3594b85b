/* libc replaces descriptors 0 to 2 by itself, and daemon the working directory. */
#include "must.h"

#include <pty.h>
#include <utmp.h>

static char block[100];

static void to_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && dup2(fd, 1) == 1 && close(fd) == 0);
	MUST(write(1, block, 10) == 10);
}

static void in_child(void (*replace)(void), const char *name)
{
	int status;
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		to_file(name);
		replace();
		MUST(write(1, block, 100) == 100);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void by_daemon(void)
{
	int ends[2];
	char end, old[10], here[4096];
	MUST(getcwd(here, sizeof here - 10) != NULL);
	strcat(here, "/daemon");
	MUST(pipe(ends) == 0);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		MUST(daemon(0, 0) == 0);
		MUST(write(1, block, 100) == 100);
		int fd = open(here + 1, O_RDONLY);
		MUST(fd >= 0 && read(fd, old, 10) == 10);
		_exit(0);
	}
	MUST(close(ends[1]) == 0 && read(ends[0], &end, 1) == 0); /* the daemon has ended, too */
}

static void by_login(void)
{
	int terminal, end;
	MUST(openpty(&terminal, &end, NULL, NULL, NULL) == 0);
	MUST(login_tty(end) == 0);
}

static void by_fork(void)
{
	int terminal, status;
	pid_t child = forkpty(&terminal, NULL, NULL, NULL);
	MUST(child >= 0);
	if (child == 0) {
		MUST(write(1, block, 100) == 100);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
	memset(block, 'x', sizeof block);
	in_child(by_daemon, "daemon");
	in_child(by_login, "login");
	in_child(by_fork, "fork");
}
