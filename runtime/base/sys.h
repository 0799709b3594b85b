/*
 * System calls made by iolens itself. They never pass through a wrapped symbol (ours or another
 * library's), are not cancellation points, and return -errno instead of setting errno.
 */
#ifndef IOLENS_SYS_H
#define IOLENS_SYS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

long sys_call(long number, long a, long b, long c, long d, long e, long f);

/*
 * The process has confined itself to some system calls, and would be killed for any other: from now on ours fail instead. What is
 * recorded goes on as far as the store has pages.
 */
extern bool sys_confined;

/* Never 0, 1 or 2: the program may have closed them, and write to them. */
int sys_open_at(int dir, const char *path, int flags, int mode);

static inline int sys_open(const char *path, int flags, int mode)
{
	return sys_open_at(AT_FDCWD, path, flags, mode);
}

static inline int sys_close(int fd)
{
	return sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Bytes that iolens itself has read, and has written before the program's end: not the program's. */
extern int64_t sys_own_read, sys_own_written;

static inline ssize_t sys_read(int fd, void *to, size_t n)
{
	ssize_t got = sys_call(SYS_read, fd, (long)to, n, 0, 0, 0);
	if (got > 0)
		__atomic_fetch_add(&sys_own_read, got, __ATOMIC_RELAXED);
	return got;
}

/* What a file holds, up to n bytes; -1 = it cannot be opened. */
long sys_read_file(const char *path, char *to, size_t n);

/* v in decimal and a byte of 0, at most 11 bytes. Returns where this byte is. */
char *sys_decimal(char *to, unsigned v);

static inline ssize_t sys_write(int fd, const void *from, size_t n)
{
	return sys_call(SYS_write, fd, (long)from, n, 0, 0, 0);
}

static inline bool sys_write_at(int fd, const void *from, size_t n, uint64_t at)
{
	long done = sys_call(SYS_pwrite64, fd, (long)from, (long)n, (long)at, 0, 0);
	if (done > 0)
		__atomic_fetch_add(&sys_own_written, done, __ATOMIC_RELAXED);
	return done == (long)n;
}

/* ns, as CLOCK_MONOTONIC. Where it is asked once, the kernel is cheaper than the pages of libc's function and of its clocks. */
static inline int64_t sys_monotonic(void)
{
	struct timespec t = {0};
	sys_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0, 0, 0, 0);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline int64_t sys_seek(int fd, int64_t at, int whence)
{
	return sys_call(SYS_lseek, fd, at, whence, 0, 0, 0);
}

static inline int sys_truncate(int fd, int64_t size)
{
	return sys_call(SYS_ftruncate, fd, size, 0, 0, 0, 0);
}

static inline int sys_unlink_at(int dir, const char *path)
{
	return sys_call(SYS_unlinkat, dir, (long)path, 0, 0, 0, 0);
}

static inline int sys_exists(const char *path)
{
	struct stat s;
	return sys_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0) == 0;
}

static inline int sys_remove_directory(const char *path)
{
	return sys_call(SYS_unlinkat, AT_FDCWD, (long)path, AT_REMOVEDIR, 0, 0, 0);
}

static inline int sys_make_directory(const char *path, int mode)
{
	return sys_call(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

static inline int sys_rename(const char *from, const char *to)
{
	return sys_call(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to, 0, 0);
}

static inline int sys_statfs(const char *path, struct statfs *out)
{
	return sys_call(SYS_statfs, (long)path, (long)out, 0, 0, 0, 0);
}

static inline int sys_fcntl(int fd, int command, long argument)
{
	return sys_call(SYS_fcntl, fd, command, argument, 0, 0, 0);
}

/* The kernel's struct stat equals glibc's on the 64-bit machines that we serve. The loader makes the same call. */
static inline int sys_fstat(int fd, struct stat *out)
{
	return sys_call(SYS_newfstatat, fd, (long)"", (long)out, AT_EMPTY_PATH, 0, 0);
}

static inline ssize_t sys_readlink(const char *path, char *to, size_t n)
{
	return sys_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)to, n, 0, 0);
}

/* Length of the path without its NUL, or -errno. */
static inline ssize_t sys_getcwd(char *to, size_t n)
{
	long got = sys_call(SYS_getcwd, (long)to, n, 0, 0, 0, 0);
	return got > 0 ? got - 1 : got;
}

static inline void *sys_map(void *at, size_t n, int protection, int flags, int fd)
{
	long got = sys_call(SYS_mmap, (long)at, n, protection, flags, fd, 0);
	return got < 0 && got > -4096 ? NULL : (void *)got;
}

static inline int sys_unmap(void *at, size_t n)
{
	return sys_call(SYS_munmap, (long)at, n, 0, 0, 0, 0);
}

static inline int sys_pid(void)
{
	return sys_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline int sys_parent(void)
{
	return sys_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

/*
 * Between the two, what a write may raise in the calling thread (a pipe without reader, RLIMIT_FSIZE, a terminal of another job) is
 * an error only: the program must not end by what we write.
 */
struct sys_signals {
	uint64_t mask;    /* the program's */
	uint64_t pending; /* from before */
};

struct sys_signals sys_block_signals(void);
void sys_restore_signals(struct sys_signals s);

/* All signals of the calling thread, those of the C library included, until they are restored. False: they are not blocked. */
static inline bool sys_block_all_signals(uint64_t *before)
{
	uint64_t all = ~UINT64_C(0);
	return sys_call(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, (long)&all, (long)before, sizeof all, 0, 0) == 0;
}

static inline void sys_restore_all_signals(const uint64_t *before)
{
	sys_call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)before, 0, sizeof *before, 0, 0);
}

/* Calls `each` for every name in an open directory, until it returns false. */
void sys_each_name(int directory, bool (*each)(void *context, const char *name), void *context);
/* The same with a place of the caller's, aligned to 8, for what the kernel tells. */
void sys_each_name_in(int directory, char *entries, size_t room, bool (*each)(void *context, const char *name),
		      void *context);

/* A directory of ours alone: another user's, or one that others may write to, could redirect what we put there. -1 = it is not. */
int sys_open_private(const char *path);
bool sys_private(const char *path);

/*
 * Whether some process has a file open for writing, or mapped so, in whatever container and under whatever number it runs: on such
 * a file there is no lease for readers. SYS_UNKNOWN where the file system has no leases.
 */
enum sys_writer { SYS_UNWRITTEN, SYS_WRITTEN, SYS_UNKNOWN };
enum sys_writer sys_writer_of(int fd);

/* One that root has made for the stores of other users (cli/session/other_users.h). -1 = it is not. */
int sys_open_others(const char *path);

/*
 * While others (the dynamic linker, an MPI) open something for us: the numbers of closed standard streams are held by descriptors
 * that can neither be read nor written. Returns which, to be let go afterwards.
 */
unsigned sys_hold_standard(void);
void sys_let_standard_go(unsigned held);

static inline int64_t sys_nanoseconds(int clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

#endif
