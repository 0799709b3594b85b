#include "bounded_stderr.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, ROOM = 65536 /* of the buffer: a summary comes in one piece */ };

static struct {
	bool socket;
	bool own;     /* a description of our own, which is non-blocking */
	int64_t left; /* ms */
} out;

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	out.left--;
}

static bool await_room(void)
{
	struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
	int64_t before = now_ms();
	bool room = out.left > 0 && poll(&fd, 1, (int)out.left) == 1;
	out.left -= now_ms() - before;
	return room;
}

/* As much as goes: where a write could wait for room, no more than a pipe that has some takes. */
static ssize_t put_piece(const char *text, size_t n)
{
	n = n < PIPE_BUF || out.own ? n : PIPE_BUF;
	return out.socket ? send(STDERR_FILENO, text, n, MSG_DONTWAIT | MSG_NOSIGNAL) : write(STDERR_FILENO, text, n);
}

static ssize_t put(void *nothing, const char *text, size_t n)
{
	(void)nothing;
	for (size_t done = 0; done < n && await_room();) {
		ssize_t some = put_piece(text + done, n - done);
		if (some < 0 && errno != EAGAIN && errno != EINTR)
			break;
		if (some <= 0)
			nap();
		done += some > 0 ? (size_t)some : 0;
	}
	return (ssize_t)n;
}

/* A pipe or a terminal that is opened again has a description of its own, which may be non-blocking. */
static bool open_again(void)
{
	int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool good = fd >= 0 && dup2(fd, STDERR_FILENO) >= 0;
	if (fd >= 0)
		close(fd);
	return good;
}

void bounded_stderr(void)
{
	struct stat s;
	if (fstat(STDERR_FILENO, &s) != 0)
		return;
	out.own = (S_ISFIFO(s.st_mode) || isatty(STDERR_FILENO)) && open_again();
	out.socket = S_ISSOCK(s.st_mode);
	out.left = PATIENCE_MS;
	FILE *bounded = fopencookie(NULL, "w", (cookie_io_functions_t){.write = put});
	if (!bounded)
		return;
	setvbuf(bounded, NULL, _IOFBF, ROOM);
	stderr = bounded;
}
