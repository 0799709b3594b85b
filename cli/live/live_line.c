#include "live_line.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live_job.h"
#include "live_page.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* everywhere; headers before Linux 5.9 lack it */
#endif

static void draw(const struct live *l)
{
	struct output out;
	struct winsize size = {0};
	ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
	if (!output_open(&out, STDERR_FILENO))
		return;
	output_text(&out, "\r\x1b[K");
	live_put_sums(&out, l, size.ws_col > 1 ? size.ws_col - 1u : 79);
	output_close(&out);
}

/* Ends with who started it. Nothing of the command's is held open: who reads its output waits for the last holder. */
static _Noreturn void be_line(const char *session, pid_t parent)
{
	struct live_names *names = live_names_make();
	struct live_look now = {0}, before = {0};
	struct live l;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTTOU, SIG_IGN);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
	for (bool first = true; names && getppid() == parent; first = false) {
		live_look_free(&before);
		before = now;
		if (live_look_take(&now, names, NULL) < 0)
			break;
		if (!first && live_make(&l, &now, &before, names, session, NULL) >= 0) {
			if (l.n)
				draw(&l);
			live_free(&l);
		}
		nanosleep(&(struct timespec){1, 0}, NULL);
	}
	_exit(0);
}

pid_t live_line_begin(const char *session)
{
	pid_t self = getpid();
	pid_t line = isatty(STDERR_FILENO) ? fork() : 0;
	if (line == 0 && getpid() != self)
		be_line(session, self);
	return line > 0 ? line : 0;
}

void live_line_end(pid_t line)
{
	static const char erase[] = "\r\x1b[K";
	if (!line)
		return;
	kill(line, SIGKILL);
	waitpid(line, NULL, 0);
	if (write(STDERR_FILENO, erase, sizeof erase - 1) < 0)
		return;
}
