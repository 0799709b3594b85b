#include "sys.h"

#include "thread.h"

#include <errno.h>
#include <signal.h>

int64_t sys_own_read AT_START, sys_own_written AT_START; /* atomic sums */
bool sys_confined AT_START;                              /* set once, by the thread that confines the process */

#if defined(__x86_64__)
long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	if (__builtin_expect(sys_confined, 0))
		return -EPERM;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(sys_confined, 0))
		return -EPERM;
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8) : "memory");
	return x0;
}
#else
#error "iolens knows the system call convention of x86-64 and AArch64 only"
#endif

#define BIT(signal) (UINT64_C(1) << ((signal)-1))

static const uint64_t raised = BIT(SIGPIPE) | BIT(SIGXFSZ) | BIT(SIGTTOU);

static uint64_t pending(void)
{
	uint64_t set = 0;
	sys_call(SYS_rt_sigpending, (long)&set, sizeof set, 0, 0, 0, 0);
	return set & raised;
}

struct sys_signals sys_block_signals(void)
{
	struct sys_signals s = {0};
	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&raised, (long)&s.mask, sizeof s.mask, 0, 0);
	s.pending = pending();
	return s;
}

void sys_restore_signals(struct sys_signals s)
{
	struct timespec now = {0, 0};
	uint64_t ours;
	while ((ours = pending() & ~s.pending) &&
	       sys_call(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&now, sizeof ours, 0, 0) > 0)
		;
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&s.mask, 0, sizeof s.mask, 0, 0);
}

static int open_at(int dir, const char *path, int flags, int mode)
{
	return sys_call(SYS_openat, dir, (long)path, flags, mode, 0, 0);
}

int sys_open_at(int dir, const char *path, int flags, int mode)
{
	int fd = open_at(dir, path, flags, mode);
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int above = sys_fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	sys_close(fd);
	return above;
}

unsigned sys_hold_standard(void)
{
	unsigned held = 0;
	for (int fd; (fd = open_at(AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0)) >= 0; held |= 1U << fd) {
		if (fd > STDERR_FILENO) {
			sys_close(fd);
			break;
		}
	}
	return held;
}

void sys_let_standard_go(unsigned held)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (held >> fd & 1)
			sys_close(fd);
}

int sys_open_private(const char *path)
{
	struct stat s;
	int directory = sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (directory < 0)
		return -1;
	if (sys_fstat(directory, &s) == 0 && s.st_uid == geteuid() && !(s.st_mode & 077))
		return directory;
	sys_close(directory);
	return -1;
}

int sys_open_others(const char *path)
{
	enum { SHARED = 01733 };
	struct stat s;
	int directory = sys_open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (directory < 0)
		return -1;
	if (sys_fstat(directory, &s) == 0 && s.st_uid == 0 && (s.st_mode & 07777) == SHARED)
		return directory;
	sys_close(directory);
	return -1;
}

bool sys_private(const char *path)
{
	int directory = sys_open_private(path);
	if (directory >= 0)
		sys_close(directory);
	return directory >= 0;
}

enum sys_writer sys_writer_of(int fd)
{
	int result = sys_fcntl(fd, F_SETLEASE, F_RDLCK);
	if (result == 0)
		sys_fcntl(fd, F_SETLEASE, F_UNLCK);
	return result == 0 ? SYS_UNWRITTEN : result == -EAGAIN ? SYS_WRITTEN : SYS_UNKNOWN;
}

/* What getdents64 fills in. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

void sys_each_name(int directory, bool (*each)(void *context, const char *name), void *context)
{
	char entries[512] __attribute__((aligned(8)));
	sys_each_name_in(directory, entries, sizeof entries, each, context);
}

void sys_each_name_in(int directory, char *entries, size_t room, bool (*each)(void *context, const char *name),
		      void *context)
{
	long n;
	while ((n = sys_call(SYS_getdents64, directory, (long)entries, (long)room, 0, 0, 0)) > 0)
		for (long at = 0; at < n; at += ((struct entry *)(entries + at))->length)
			if (!each(context, ((struct entry *)(entries + at))->name))
				return;
}

char *sys_decimal(char *to, unsigned v)
{
	char digits[10];
	int n = 0;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = digits[--n];
	*to = '\0';
	return to;
}

long sys_read_file(const char *path, char *to, size_t n)
{
	size_t used = 0;
	ssize_t got = 1;
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	while (fd >= 0 && used < n && (got = sys_read(fd, to + used, n - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		sys_close(fd);
	return fd < 0 ? -1 : (long)used;
}
