/*
 * Preloaded into `iolens watch`: what it reads is what a kernel with Yama tells, STANDIN_SCOPE being kernel.yama.ptrace_scope.
 * No process is told the call of a thread (as one that is neither root nor the thread's ancestor).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int told_nothing = -1;

int open64(const char *path, int flags, ...)
{
	static int (*next)(const char *, int, ...);
	va_list more;
	va_start(more, flags);
	mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (!next)
		next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
	if (!strcmp(path, "/proc/sys/kernel/yama/ptrace_scope")) {
		const char *scope = getenv("STANDIN_SCOPE");
		int fd = memfd_create("scope", 0);
		if (write(fd, scope, strlen(scope)) < 0 || lseek(fd, 0, SEEK_SET) != 0)
			abort();
		return fd;
	}
	const char *last = strrchr(path, '/');
	int fd = next(path, flags, mode);
	if (!strncmp(path, "/proc/", 6) && last && !strcmp(last, "/syscall"))
		told_nothing = fd;
	return fd;
}

/* The file can be opened, reading it is not permitted. */
ssize_t read(int fd, void *to, size_t room)
{
	static ssize_t (*next)(int, void *, size_t);
	if (!next)
		next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	if (fd >= 0 && fd == told_nothing) {
		told_nothing = -1;
		errno = EPERM;
		return -1;
	}
	return next(fd, to, room);
}
