/* Opening, closing and duplicating descriptors. */
#include "site.h"
#include "wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <pty.h>
#include <stdint.h>
#include <sys/file.h>
#include <unistd.h>

#include "record.h"
#include "sys.h"

/* The mode argument exists only for flags that create something. */
static int mode_argument(int flags, va_list arguments)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, int) : 0;
}

#define MODE(flags, last)                                    \
	({                                                   \
		va_list arguments;                           \
		va_start(arguments, last);                   \
		int given = mode_argument(flags, arguments); \
		va_end(arguments);                           \
		given;                                       \
	})

WRAP(int, open, const char *path, int flags, ...)
{
	int mode = MODE(flags, flags);
	struct span s = span_path();
	int fd = REAL(open)(path, flags, mode);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, flags, mode));
	return fd;
}
ALIAS_OF_LIBC(__open, open);

WRAP(int, open64, const char *path, int flags, ...)
{
	int mode = MODE(flags, flags);
	struct span s = span_path();
	int fd = REAL(open64)(path, flags, mode);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, flags, mode));
	return fd;
}
ALIAS_OF_LIBC(__open64, open64);

WRAP(int, __open_2, const char *path, int flags)
{
	struct span s = span_path();
	int fd = REAL(__open_2)(path, flags);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, flags, 0));
	return fd;
}
ALIAS(__open64_2, __open_2);

WRAP(int, openat, int dir, const char *path, int flags, ...)
{
	int mode = MODE(flags, flags);
	struct span s = span_path();
	int fd = REAL(openat)(dir, path, flags, mode);
	SITE(posix_on_open(s, fd, dir, path, flags, mode));
	return fd;
}

WRAP(int, openat64, int dir, const char *path, int flags, ...)
{
	int mode = MODE(flags, flags);
	struct span s = span_path();
	int fd = REAL(openat64)(dir, path, flags, mode);
	SITE(posix_on_open(s, fd, dir, path, flags, mode));
	return fd;
}

WRAP(int, __openat_2, int dir, const char *path, int flags)
{
	struct span s = span_path();
	int fd = REAL(__openat_2)(dir, path, flags);
	SITE(posix_on_open(s, fd, dir, path, flags, 0));
	return fd;
}
ALIAS(__openat64_2, __openat_2);

WRAP(int, creat, const char *path, mode_t mode)
{
	struct span s = span_path();
	int fd = REAL(creat)(path, mode);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, (int)mode));
	return fd;
}

WRAP(int, creat64, const char *path, mode_t mode)
{
	struct span s = span_path();
	int fd = REAL(creat64)(path, mode);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, (int)mode));
	return fd;
}

/* Its name is the kernel's. */
WRAP(int, open_by_handle_at, int mount, struct file_handle *handle, int flags)
{
	struct span s = span_path();
	int fd = REAL(open_by_handle_at)(mount, handle, flags);
	posix_on_open_unnamed(s, fd);
	return fd;
}

/* The kernel's struct open_how, which older headers lack. */
struct open_as {
	uint64_t flags, mode, resolve;
};
enum { RESOLVE_IN_OWN_ROOT = 0x10 };

/* glibc 2.43 has it. What an absolute path means below a root of its own is the kernel's to say. */
WRAP(int, openat2, int dir, const char *path, const struct open_as *as, size_t size)
{
	struct span s = span_path();
	int fd = REAL(openat2)(dir, path, as, size);
	if (fd >= 0 && as->resolve & RESOLVE_IN_OWN_ROOT)
		posix_on_open_unnamed(s, fd);
	else
		SITE(posix_on_open(s, fd, dir, path, fd < 0 ? 0 : (int)as->flags, fd < 0 ? 0 : (int)as->mode));
	return fd;
}

enum { TEMPORARY_MODE = 0600 };

WRAP(int, mkstemp, char *path)
{
	struct span s = span_path();
	int fd = REAL(mkstemp)(path);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, O_CREAT | O_RDWR, TEMPORARY_MODE));
	return fd;
}
ALIAS(mkstemp64, mkstemp);

WRAP(int, mkostemp, char *path, int flags)
{
	struct span s = span_path();
	int fd = REAL(mkostemp)(path, flags);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, flags | O_CREAT, TEMPORARY_MODE));
	return fd;
}
ALIAS(mkostemp64, mkostemp);

WRAP(int, mkstemps, char *path, int suffix)
{
	struct span s = span_path();
	int fd = REAL(mkstemps)(path, suffix);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, O_CREAT | O_RDWR, TEMPORARY_MODE));
	return fd;
}
ALIAS(mkstemps64, mkstemps);

WRAP(int, mkostemps, char *path, int suffix, int flags)
{
	struct span s = span_path();
	int fd = REAL(mkostemps)(path, suffix, flags);
	SITE(posix_on_open(s, fd, AT_FDCWD, path, flags | O_CREAT, TEMPORARY_MODE));
	return fd;
}
ALIAS(mkostemps64, mkostemps);

WRAP(int, close, int fd)
{
	struct span s = posix_span_close(fd);
	int result = REAL(close)(fd);
	posix_on_close(s);
	return result;
}
ALIAS_OF_LIBC(__close, close);

WRAP(int, close_range, unsigned first, unsigned last, int flags)
{
	enum { CLOEXEC = 4 };
	int result = REAL(close_range)(first, last, flags);
	if (result == 0 && !(flags & CLOEXEC))
		posix_forget(first, last);
	return result;
}

WRAP(void, closefrom, int first)
{
	posix_forget((unsigned)(first < 0 ? 0 : first), ~0u);
	REAL(closefrom)(first);
}

WRAP(int, dup, int fd)
{
	struct span s = span_fd(fd);
	int copy = REAL(dup)(fd);
	posix_on_dup(s, copy);
	return copy;
}

WRAP(int, dup2, int fd, int to)
{
	struct span s = span_fd(fd);
	int copy = REAL(dup2)(fd, to);
	posix_on_dup(s, copy);
	return copy;
}
ALIAS_OF_LIBC(__dup2, dup2);

WRAP(int, dup3, int fd, int to, int flags)
{
	struct span s = span_fd(fd);
	int copy = REAL(dup3)(fd, to, flags);
	posix_on_dup(s, copy);
	return copy;
}

/* ---- libc replaces the standard descriptors by itself ---- */

WRAP(int, daemon, int stay, int keep)
{
	int result = REAL(daemon)(stay, keep);
	if (result == 0 && !keep)
		posix_forget(0, STDERR_FILENO);
	return result;
}

WRAP(int, login_tty, int fd)
{
	int result = REAL(login_tty)(fd);
	if (result == 0) {
		posix_forget(0, STDERR_FILENO);
		posix_forget((unsigned)fd, (unsigned)fd);
	}
	return result;
}

WRAP(int, forkpty, int *terminal, char *name, const struct termios *how, const struct winsize *size)
{
	int pid = REAL(forkpty)(terminal, name, how, size);
	if (pid == 0)
		posix_forget(0, STDERR_FILENO);
	else if (pid > 0)
		posix_forget((unsigned)*terminal, (unsigned)*terminal);
	return pid;
}

static bool locks(int command)
{
	return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

/* What a lock is for stands in the program's memory, which the kernel has read unless it says otherwise. */
static enum posix_lock asked_for(const struct flock *lock, int result)
{
	if (result < 0 && errno != EAGAIN && errno != EACCES)
		return POSIX_LOCK_EXCLUSIVE; /* of which it counts as an error */
	return lock->l_type == F_UNLCK   ? POSIX_LOCK_RELEASED
	       : lock->l_type == F_RDLCK ? POSIX_LOCK_SHARED
					 : POSIX_LOCK_EXCLUSIVE;
}

static void after_fcntl(struct span s, int command, void *argument, int result)
{
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		posix_on_dup(s, result);
	else if (command == F_SETFL && result == 0)
		posix_on_flags(s, (int)(intptr_t)argument);
	else if (locks(command))
		posix_on_lock(s, asked_for(argument, result), result, errno);
}

static struct span span_fcntl(int fd, int command)
{
	if (locks(command))
		return posix_span_operation(fd);
	bool watched = command == F_DUPFD || command == F_DUPFD_CLOEXEC || command == F_SETFL;
	return watched ? span_fd(fd) : (struct span){.fd = fd};
}

/* The third argument is at most one pointer wide. */
WRAP(int, fcntl, int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	struct span s = span_fcntl(fd, command);
	int result = REAL(fcntl)(fd, command, argument);
	after_fcntl(s, command, argument, result);
	return result;
}
ALIAS_OF_LIBC(__fcntl, fcntl);

WRAP(int, fcntl64, int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	struct span s = span_fcntl(fd, command);
	int result = REAL(fcntl64)(fd, command, argument);
	after_fcntl(s, command, argument, result);
	return result;
}

WRAP(int, flock, int fd, int operation)
{
	enum posix_lock what = operation & LOCK_UN   ? POSIX_LOCK_RELEASED
			       : operation & LOCK_SH ? POSIX_LOCK_SHARED
						     : POSIX_LOCK_EXCLUSIVE;
	struct span s = posix_span_operation(fd);
	int result = REAL(flock)(fd, operation);
	posix_on_lock(s, what, result, errno);
	return result;
}

WRAP(int, lockf, int fd, int operation, off_t n)
{
	enum posix_lock what = operation == F_ULOCK  ? POSIX_LOCK_RELEASED
			       : operation == F_TEST ? POSIX_LOCK_NONE
						     : POSIX_LOCK_EXCLUSIVE;
	struct span s = posix_span_operation(fd);
	int result = REAL(lockf)(fd, operation, n);
	posix_on_lock(s, what, result, errno);
	return result;
}
ALIAS(lockf64, lockf);

/* ---- descriptors of other things ---- */

/* A call that makes one: parameters and arguments in brackets. */
#define MAKES(name, parameters, arguments)     \
	WRAP(int, name, UNPACK parameters)     \
	{                                      \
		int fd = REAL(name) arguments; \
		posix_made(fd);                \
		return fd;                     \
	}
#define UNPACK(...) __VA_ARGS__

MAKES(socket, (int domain, int type, int protocol), (domain, type, protocol))
MAKES(accept, (int fd_, void *from, void *room), (fd_, from, room))
MAKES(accept4, (int fd_, void *from, void *room, int flags), (fd_, from, room, flags))
MAKES(eventfd, (unsigned count, int flags), (count, flags))
MAKES(timerfd_create, (int clock, int flags), (clock, flags))
MAKES(signalfd, (int fd_, const void *signals, int flags), (fd_, signals, flags))
MAKES(epoll_create, (int size), (size))
MAKES(epoll_create1, (int flags), (flags))
MAKES(inotify_init, (void), ())
MAKES(inotify_init1, (int flags), (flags))
MAKES(fanotify_init, (unsigned flags, unsigned event_flags), (flags, event_flags))
MAKES(memfd_create, (const char *name, unsigned flags), (name, flags))
MAKES(posix_openpt, (int flags), (flags))
MAKES(getpt, (void), ())
MAKES(pidfd_open, (pid_t process, unsigned flags), (process, flags))
MAKES(pidfd_getfd, (int process, int theirs, unsigned flags), (process, theirs, flags))
MAKES(open_tree, (int dir, const char *path, unsigned flags), (dir, path, flags))
MAKES(fsopen, (const char *type, unsigned flags), (type, flags))
MAKES(fspick, (int dir, const char *path, unsigned flags), (dir, path, flags))
MAKES(fsmount, (int fd_, unsigned flags, unsigned attributes), (fd_, flags, attributes))
MAKES(rresvport, (int *port), (port))
MAKES(rresvport_af, (int *port, unsigned short family), (port, family))

/* libc reads and writes the number by itself. */
WRAP(int, eventfd_read, int fd, uint64_t *number)
{
	struct span s = span_fd(fd);
	int result = REAL(eventfd_read)(fd, number);
	posix_on_read(s, number, AT_CURSOR, result ? -1 : (ssize_t)sizeof *number);
	return result;
}

WRAP(int, eventfd_write, int fd, uint64_t number)
{
	struct span s = span_fd(fd);
	int result = REAL(eventfd_write)(fd, number);
	posix_on_write(s, NULL, AT_CURSOR, result ? -1 : (ssize_t)sizeof number);
	return result;
}

/* The same for one that makes two. */
#define MAKES_TWO(name, parameters, arguments)     \
	WRAP(int, name, UNPACK parameters)         \
	{                                          \
		int result = REAL(name) arguments; \
		if (result == 0) {                 \
			posix_made(fds[0]);        \
			posix_made(fds[1]);        \
		}                                  \
		return result;                     \
	}

MAKES_TWO(pipe, (int fds[2]), (fds))
MAKES_TWO(pipe2, (int fds[2], int flags), (fds, flags))
MAKES_TWO(socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))
ALIAS(__pipe, pipe);

WRAP(int, openpty, int *terminal, int *other, char *name, const struct termios *how, const struct winsize *size)
{
	int result = REAL(openpty)(terminal, other, name, how, size);
	if (result == 0) {
		posix_made(*terminal);
		posix_made(*other);
	}
	return result;
}

MAKES(shm_open, (const char *name, int flags, mode_t mode), (name, flags, mode))

/* ---- queues of messages: each is a descriptor, of a file in the kernel's memory ---- */

/* The last two arguments exist only for flags that create something, and are a number and a pointer. */
WRAP(int, mq_open, const char *name, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	void *attributes = flags & O_CREAT ? va_arg(arguments, void *) : NULL;
	va_end(arguments);
	int queue = REAL(mq_open)(name, flags, mode, attributes);
	posix_on_queue(queue);
	return queue;
}

WRAP(int, __mq_open_2, const char *name, int flags)
{
	int queue = REAL(__mq_open_2)(name, flags);
	posix_on_queue(queue);
	return queue;
}

WRAP(int, mq_send, int queue, const char *message, size_t n, unsigned priority)
{
	struct span s = span_fd(queue);
	int result = REAL(mq_send)(queue, message, n, priority);
	posix_on_write(s, message, AT_CURSOR, result ? -1 : (ssize_t)n);
	return result;
}

WRAP(int, mq_timedsend, int queue, const char *message, size_t n, unsigned priority, const struct timespec *until)
{
	struct span s = span_fd(queue);
	int result = REAL(mq_timedsend)(queue, message, n, priority, until);
	posix_on_write(s, message, AT_CURSOR, result ? -1 : (ssize_t)n);
	return result;
}

WRAP(ssize_t, mq_receive, int queue, char *message, size_t n, unsigned *priority)
{
	struct span s = span_fd(queue);
	ssize_t got = REAL(mq_receive)(queue, message, n, priority);
	posix_on_read(s, message, AT_CURSOR, got);
	return got;
}

WRAP(ssize_t, mq_timedreceive, int queue, char *message, size_t n, unsigned *priority, const struct timespec *until)
{
	struct span s = span_fd(queue);
	ssize_t got = REAL(mq_timedreceive)(queue, message, n, priority, until);
	posix_on_read(s, message, AT_CURSOR, got);
	return got;
}

WRAP(int, mq_close, int queue)
{
	struct span s = posix_span_close(queue);
	int result = REAL(mq_close)(queue);
	posix_on_close(s);
	return result;
}
