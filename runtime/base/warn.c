#include "warn.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "thread.h"
#include "lock.h"
#include "sys.h"

enum { LINE = 4096 /* as much as a pipe takes in one piece */ };

/* Set at start. */
static struct {
	dev_t device;
	ino_t inode;
	dev_t special;
	mode_t mode; /* 0: it was closed */
} at_start AT_START;

void warn_start(void)
{
	struct stat s;
	at_start.mode = 0;
	if (sys_fstat(STDERR_FILENO, &s) != 0)
		return;
	at_start.device = s.st_dev;
	at_start.inode = s.st_ino;
	at_start.special = s.st_rdev;
	at_start.mode = s.st_mode & S_IFMT;
}

static bool is_as_at_start(void)
{
	struct stat s;
	return at_start.mode && sys_fstat(STDERR_FILENO, &s) == 0 && s.st_dev == at_start.device &&
	       s.st_ino == at_start.inode && s.st_rdev == at_start.special && (s.st_mode & S_IFMT) == at_start.mode;
}

/* ---- without waiting ---- */

static bool takes_some(void)
{
	struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
	struct timespec now = {0, 0};
	return sys_call(SYS_ppoll, (long)&fd, 1, (long)&now, 0, 0, 0) == 1 && fd.revents & POLLOUT;
}

/* To open a pipe or a terminal once more gives a description of our own, whose flags are not the program's. */
static bool may_be_opened(void)
{
	bool multiplexer = major(at_start.special) == 5 && minor(at_start.special) == 2;
	return at_start.mode == S_IFIFO || (at_start.mode == S_IFCHR && !multiplexer);
}

struct line {
	const char *text;
	size_t n;
};

static void put(void *line)
{
	const char *text = ((struct line *)line)->text;
	size_t n = ((struct line *)line)->n;
	int fd = STDERR_FILENO;
	if (at_start.mode == S_IFSOCK) {
		sys_call(SYS_sendto, fd, (long)text, (long)n, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
		return;
	}
	if (may_be_opened())
		fd = sys_open("/proc/thread-self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	if (fd >= 0)
		sys_write(fd, text, n);
	else if (fd != -ENXIO && takes_some()) /* ENXIO: a pipe without reader */
		sys_write(STDERR_FILENO, text, n);
	if (fd > STDERR_FILENO)
		sys_close(fd);
}

void warn_write(const char *text, size_t n)
{
	if (!is_as_at_start())
		return;
	struct sys_signals signals = sys_block_signals();
	alone_do(put, &(struct line){text, n});
	sys_restore_signals(signals);
}

void warn(const char *format, ...)
{
	char line[LINE] = "iolens: ";
	size_t n = strlen(line);
	va_list list;
	va_start(list, format);
	vsnprintf(line + n, sizeof line - n - 1, format, list);
	va_end(list);
	n = strlen(line);
	line[n++] = '\n';
	warn_write(line, n);
}

const char *warn_error(int error)
{
	static const struct {
		int error;
		const char *text;
	} known[] = {
		{EPERM, "Operation not permitted"},
		{ENOENT, "No such file or directory"},
		{EIO, "Input/output error"},
		{ENOMEM, "Cannot allocate memory"},
		{EACCES, "Permission denied"},
		{EEXIST, "File exists"},
		{ENOTDIR, "Not a directory"},
		{EISDIR, "Is a directory"},
		{EINVAL, "Invalid argument"},
		{ENFILE, "Too many open files in system"},
		{EMFILE, "Too many open files"},
		{ETXTBSY, "Text file busy"},
		{EFBIG, "File too large"},
		{ENOSPC, "No space left on device"},
		{EROFS, "Read-only file system"},
		{ENAMETOOLONG, "File name too long"},
		{ELOOP, "Too many levels of symbolic links"},
		{ESTALE, "Stale file handle"},
		{EDQUOT, "Disk quota exceeded"},
		{ETIMEDOUT, "Connection timed out"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].error == error)
			return known[i].text;
	return "an error of the system";
}
