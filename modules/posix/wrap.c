/* Reading, writing and moving in files by descriptor. */
#include "wrap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/sendfile.h>

#include "record.h"
#include "sampling.h"
#include "sys.h"

/*
 * A wrapper, and a function for each way that a call may take: without the clock, with it, and of a descriptor that is only
 * counted. So the program's arguments stay where they are until the real function gets them, and a way saves what it needs.
 * `entry` is the descriptor's, 0 where more must be asked.
 */
#define DATA_WAYS(symbol, op, bytes, arguments, ...)                                             \
	__attribute__((noinline)) static ssize_t symbol##_untimed(__VA_ARGS__, uintptr_t entry); \
	__attribute__((noinline)) static ssize_t symbol##_timed(__VA_ARGS__, uintptr_t entry);   \
	__attribute__((noinline)) static ssize_t symbol##_counted(__VA_ARGS__, uintptr_t entry); \
	WRAP(ssize_t, symbol, __VA_ARGS__)                                                       \
	{                                                                                        \
		uintptr_t entry = REAL_IS_KNOWN(symbol) ? fds_entry(fd) : 0;                     \
		if (entry >= STATE_CLASS_COUNT) {                                                \
			if (sampling_leaves_out(entry, fd, op, bytes))                           \
				return symbol##_untimed(EXPAND arguments, entry);                \
		} else if (entry) {                                                              \
			return symbol##_counted(EXPAND arguments, entry);                        \
		}                                                                                \
		return symbol##_timed(EXPAND arguments, entry);                                  \
	}                                                                                        \
	static ssize_t symbol##_counted(__VA_ARGS__, uintptr_t entry)                            \
	{                                                                                        \
		ssize_t got = KNOWN(symbol) arguments;                                           \
		fds_count((enum state_class_id)entry, op, got);                                  \
		return got;                                                                      \
	}

#define EXPAND(...) __VA_ARGS__

DATA_WAYS(read, IO_READ, n, (fd, buf, n), int fd, void *buf, size_t n)

static ssize_t read_untimed(int fd, void *buf, size_t n, uintptr_t entry)
{
	return posix_read_untimed((struct posix_open *)entry, buf, KNOWN(read)(fd, buf, n), fd);
}

static ssize_t read_timed(int fd, void *buf, size_t n, uintptr_t entry)
{
	struct span s = span_entry(fd, entry);
	ssize_t got = REAL(read)(fd, buf, n);
	posix_on_read(s, buf, AT_CURSOR, got);
	return got;
}
ALIAS_OF_LIBC(__read, read);

WRAP(ssize_t, __read_chk, int fd, void *buf, size_t n, size_t room)
{
	struct span s = span_sampled(fd, IO_READ, n);
	ssize_t got = REAL(__read_chk)(fd, buf, n, room);
	posix_on_read(s, buf, AT_CURSOR, got);
	return got;
}

DATA_WAYS(write, IO_WRITE, n, (fd, buf, n), int fd, const void *buf, size_t n)

static ssize_t write_untimed(int fd, const void *buf, size_t n, uintptr_t entry)
{
	return posix_write_untimed((struct posix_open *)entry, buf, KNOWN(write)(fd, buf, n), fd);
}

static ssize_t write_timed(int fd, const void *buf, size_t n, uintptr_t entry)
{
	struct span s = span_entry(fd, entry);
	ssize_t got = REAL(write)(fd, buf, n);
	posix_on_write(s, buf, AT_CURSOR, got);
	return got;
}
ALIAS_OF_LIBC(__write, write);

DATA_WAYS(pread, IO_READ, n, (fd, buf, n, at), int fd, void *buf, size_t n, off_t at)

static ssize_t pread_untimed(int fd, void *buf, size_t n, off_t at, uintptr_t entry)
{
	return posix_read_untimed_at((struct posix_open *)entry, buf, KNOWN(pread)(fd, buf, n, at), fd, at);
}

static ssize_t pread_timed(int fd, void *buf, size_t n, off_t at, uintptr_t entry)
{
	struct span s = span_entry(fd, entry);
	ssize_t got = REAL(pread)(fd, buf, n, at);
	posix_on_read(s, buf, at, got);
	return got;
}
ALIAS(pread64, pread);

WRAP(ssize_t, __pread_chk, int fd, void *buf, size_t n, off_t at, size_t room)
{
	struct span s = span_sampled(fd, IO_READ, n);
	ssize_t got = REAL(__pread_chk)(fd, buf, n, at, room);
	posix_on_read(s, buf, at, got);
	return got;
}
ALIAS(__pread64_chk, __pread_chk);

DATA_WAYS(pwrite, IO_WRITE, n, (fd, buf, n, at), int fd, const void *buf, size_t n, off_t at)

static ssize_t pwrite_untimed(int fd, const void *buf, size_t n, off_t at, uintptr_t entry)
{
	return posix_write_untimed_at((struct posix_open *)entry, buf, KNOWN(pwrite)(fd, buf, n, at), fd, at);
}

static ssize_t pwrite_timed(int fd, const void *buf, size_t n, off_t at, uintptr_t entry)
{
	struct span s = span_entry(fd, entry);
	ssize_t got = REAL(pwrite)(fd, buf, n, at);
	posix_on_write(s, buf, at, got);
	return got;
}
ALIAS(pwrite64, pwrite);

DATA_WAYS(readv, IO_READ, 0, (fd, v, count), int fd, const struct iovec *v, int count)

static ssize_t readv_untimed(int fd, const struct iovec *v, int count, uintptr_t entry)
{
	ssize_t got = KNOWN(readv)(fd, v, count);
	const void *buffer = got < 0 ? NULL : posix_vector_buffer(v, count);
	return posix_read_untimed((struct posix_open *)entry, buffer, got, fd);
}

static ssize_t readv_timed(int fd, const struct iovec *v, int count, uintptr_t entry)
{
	struct span s = span_entry(fd, entry);
	ssize_t got = REAL(readv)(fd, v, count);
	posix_on_read_vector(s, v, count, AT_CURSOR, got);
	return got;
}

DATA_WAYS(writev, IO_WRITE, 0, (fd, v, count), int fd, const struct iovec *v, int count)

static ssize_t writev_untimed(int fd, const struct iovec *v, int count, uintptr_t entry)
{
	ssize_t got = KNOWN(writev)(fd, v, count);
	const void *buffer = got < 0 ? NULL : posix_vector_buffer(v, count);
	return posix_write_untimed((struct posix_open *)entry, buffer, got, fd);
}

static ssize_t writev_timed(int fd, const struct iovec *v, int count, uintptr_t entry)
{
	struct span s = span_entry(fd, entry);
	ssize_t got = REAL(writev)(fd, v, count);
	posix_on_write_vector(s, v, count, AT_CURSOR, got);
	return got;
}

WRAP(ssize_t, preadv, int fd, const struct iovec *v, int count, off_t at)
{
	struct span s = span_sampled(fd, IO_READ, 0);
	ssize_t got = REAL(preadv)(fd, v, count, at);
	posix_on_read_vector(s, v, count, at, got);
	return got;
}
ALIAS(preadv64, preadv);

WRAP(ssize_t, pwritev, int fd, const struct iovec *v, int count, off_t at)
{
	struct span s = span_sampled(fd, IO_WRITE, 0);
	ssize_t got = REAL(pwritev)(fd, v, count, at);
	posix_on_write_vector(s, v, count, at, got);
	return got;
}
ALIAS(pwritev64, pwritev);

/* An offset of -1 means the cursor. */
WRAP(ssize_t, preadv2, int fd, const struct iovec *v, int count, off_t at, int flags)
{
	struct span s = span_sampled(fd, IO_READ, 0);
	ssize_t got = REAL(preadv2)(fd, v, count, at, flags);
	posix_on_read_vector(s, v, count, at == -1 ? AT_CURSOR : at, got);
	return got;
}
ALIAS(preadv64v2, preadv2);

#ifndef RWF_APPEND
#define RWF_APPEND 16 /* headers before glibc 2.28 */
#endif
#ifndef RWF_SYNC /* headers before glibc 2.26 */
#define RWF_DSYNC 2
#define RWF_SYNC  4
#endif

WRAP(ssize_t, pwritev2, int fd, const struct iovec *v, int count, off_t at, int flags)
{
	bool forced = flags & (RWF_DSYNC | RWF_SYNC);
	struct span s = forced ? span_fd(fd) : span_sampled(fd, IO_WRITE, 0);
	ssize_t got = REAL(pwritev2)(fd, v, count, at, flags);
	if (forced)
		posix_on_forced(s, got);
	if (flags & RWF_APPEND)
		posix_on_append_vector(s, v, count, at, got);
	else
		posix_on_write_vector(s, v, count, at == -1 ? AT_CURSOR : at, got);
	return got;
}
ALIAS(pwritev64v2, pwritev2);

WRAP(off_t, lseek, int fd, off_t to, int whence)
{
	struct span s = span_sampled(fd, IO_META, 0);
	off_t got = REAL(lseek)(fd, to, whence);
	posix_on_seek(s, got);
	return got;
}
ALIAS(lseek64, lseek);
ALIAS_OF_LIBC(__lseek, lseek);
ALIAS_OF_LIBC(llseek, lseek);

/* ---- from descriptor to descriptor ---- */

WRAP(ssize_t, sendfile, int to, int from, off_t *from_at, size_t n)
{
	struct span s = span_path();
	ssize_t got = REAL(sendfile)(to, from, from_at, n);
	posix_on_transfer(s, STATE_OP_POSIX_SENDFILE, from, posix_began(from_at, got), to, AT_CURSOR, got);
	return got;
}
ALIAS(sendfile64, sendfile);

WRAP(ssize_t, splice, int from, off_t *from_at, int to, off_t *to_at, size_t n, unsigned flags)
{
	struct span s = span_path();
	ssize_t got = REAL(splice)(from, from_at, to, to_at, n, flags);
	posix_on_transfer(s, STATE_OP_POSIX_SPLICE, from, posix_began(from_at, got), to, posix_began(to_at, got), got);
	return got;
}

WRAP(ssize_t, copy_file_range, int from, off_t *from_at, int to, off_t *to_at, size_t n, unsigned flags)
{
	struct span s = span_path();
	ssize_t got = REAL(copy_file_range)(from, from_at, to, to_at, n, flags);
	posix_on_transfer(s, STATE_OP_POSIX_COPY_FILE_RANGE, from, posix_began(from_at, got), to,
			  posix_began(to_at, got), got);
	return got;
}

WRAP(ssize_t, tee, int from, int to, size_t n, unsigned flags)
{
	struct span s = span_path();
	ssize_t got = REAL(tee)(from, to, n, flags);
	posix_on_operation(s, STATE_OP_POSIX_TEE, got, got);
	return got;
}

WRAP(ssize_t, vmsplice, int fd, const struct iovec *v, size_t count, unsigned flags)
{
	struct span s = span_path();
	ssize_t got = REAL(vmsplice)(fd, v, count, flags);
	posix_on_operation(s, STATE_OP_POSIX_VMSPLICE, got, got);
	return got;
}

WRAP(ssize_t, readahead, int fd, off_t at, size_t n)
{
	struct span s = posix_span_operation(fd);
	ssize_t got = REAL(readahead)(fd, at, n);
	posix_on_operation(s, STATE_OP_POSIX_READAHEAD, got, (int64_t)n);
	return got;
}

WRAP(int, posix_fadvise, int fd, off_t at, off_t n, int advice)
{
	struct span s = posix_span_operation(fd);
	int got = REAL(posix_fadvise)(fd, at, n, advice);
	posix_on_operation(s, STATE_OP_POSIX_READAHEAD, -got, advice == POSIX_FADV_WILLNEED ? n : 0);
	return got;
}
ALIAS(posix_fadvise64, posix_fadvise);
