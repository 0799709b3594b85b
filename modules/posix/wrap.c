/* Reading, writing and moving in files by descriptor. */
#include "wrap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/sendfile.h>

#include "record.h"
#include "sampling.h"
#include "sys.h"

WRAP(ssize_t, read, int fd, void *buf, size_t n)
{
	struct span s = span_sampled(fd, IO_READ, n);
	ssize_t got = REAL(read)(fd, buf, n);
	posix_on_read(s, buf, AT_CURSOR, got);
	return got;
}

WRAP(ssize_t, __read_chk, int fd, void *buf, size_t n, size_t room)
{
	struct span s = span_sampled(fd, IO_READ, n);
	ssize_t got = REAL(__read_chk)(fd, buf, n, room);
	posix_on_read(s, buf, AT_CURSOR, got);
	return got;
}

WRAP(ssize_t, write, int fd, const void *buf, size_t n)
{
	struct span s = span_sampled(fd, IO_WRITE, n);
	ssize_t got = REAL(write)(fd, buf, n);
	posix_on_write(s, buf, AT_CURSOR, got);
	return got;
}

WRAP(ssize_t, pread, int fd, void *buf, size_t n, off_t at)
{
	struct span s = span_sampled(fd, IO_READ, n);
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

WRAP(ssize_t, pwrite, int fd, const void *buf, size_t n, off_t at)
{
	struct span s = span_sampled(fd, IO_WRITE, n);
	ssize_t got = REAL(pwrite)(fd, buf, n, at);
	posix_on_write(s, buf, at, got);
	return got;
}
ALIAS(pwrite64, pwrite);

WRAP(ssize_t, readv, int fd, const struct iovec *v, int count)
{
	struct span s = span_sampled(fd, IO_READ, 0);
	ssize_t got = REAL(readv)(fd, v, count);
	posix_on_read_vector(s, v, count, AT_CURSOR, got);
	return got;
}

WRAP(ssize_t, writev, int fd, const struct iovec *v, int count)
{
	struct span s = span_sampled(fd, IO_WRITE, 0);
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

WRAP(ssize_t, pwritev2, int fd, const struct iovec *v, int count, off_t at, int flags)
{
	struct span s = span_sampled(fd, IO_WRITE, 0);
	ssize_t got = REAL(pwritev2)(fd, v, count, at, flags);
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
