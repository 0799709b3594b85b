/* Verbs that are system calls on files, descriptors, directories and pipes. */
#include "interpreter.h"
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

int __close(int fd);
int __dup2(int from, int to);

VERB(open)
{
	return open(path(op, 0), num(op, 1), num(op, 2));
}

VERB(openat)
{
	return openat(num(op, 0), path(op, 1), num(op, 2), num(op, 3));
}

VERB(creat)
{
	return creat(path(op, 0), num(op, 1));
}

/* FD FLAGS LINK: the file of a descriptor once more, by a link that leads to it. */
VERB(openfd)
{
	static const char *const links[] = {"/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"};
	char name[64];
	snprintf(name, sizeof name, "%s/%lld", links[num(op, 2)], num(op, 0));
	return open(name, num(op, 1));
}

/* FD HOW: by libc's other name, or by number */
VERB(close)
{
	int fd = num(op, 0), how = num(op, 1);
	return how == 0 ? close(fd) : how == 1 ? __close(fd) : syscall(SYS_close, fd);
}

VERB(closerange)
{
	return close_range(num(op, 0), num(op, 1), num(op, 2));
}

VERB(dup)
{
	return dup(num(op, 0));
}

VERB(dup2)
{
	return (num(op, 2) ? __dup2 : dup2)(num(op, 0), num(op, 1));
}

VERB(dup3)
{
	return dup3(num(op, 0), num(op, 1), num(op, 2));
}

VERB(dupfd)
{
	return fcntl(num(op, 0), num(op, 2) ? F_DUPFD_CLOEXEC : F_DUPFD, (int)num(op, 1));
}

VERB(append)
{
	return fcntl(num(op, 0), F_SETFL, num(op, 1) ? O_APPEND : 0);
}

/* FD SIZE TIMES SHIFT */
VERB(read)
{
	long long all = 0;
	for (int k = 0; k < num(op, 2); k++) {
		ssize_t n = read(num(op, 0), buffer + num(op, 3), num(op, 1));
		if (n < 0)
			return n;
		hash(op, buffer + num(op, 3), n);
		all += n;
	}
	return all;
}

/* By the child of a vfork, which has redirected a number: FD SIZE TIMES SHIFT NUMBER */
VERB(lend)
{
	volatile long long all = 0; /* the child has our memory */
	pid_t pid = vfork();
	if (pid == 0) {
		all = dup2(num(op, 0), num(op, 4)) < 0 ? -1 : 0;
		for (int k = 0; k < num(op, 2) && all >= 0; k++) {
			ssize_t n = write(num(op, 4), filled(op, k, num(op, 1), num(op, 3)), num(op, 1));
			all = n < 0 ? n : all + n;
		}
		_exit(0);
	}
	int status;
	int error = errno;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		syscall(SYS_exit_group, 95);
	errno = error;
	return all;
}

VERB(write)
{
	long long all = 0;
	for (int k = 0; k < num(op, 2); k++) {
		ssize_t n = write(num(op, 0), filled(op, k, num(op, 1), num(op, 3)), num(op, 1));
		if (n < 0)
			return n;
		all += n;
	}
	return all;
}

/* FD SIZE TIMES SHIFT OFFSET STEP */
VERB(pread)
{
	long long all = 0;
	for (int k = 0; k < num(op, 2); k++) {
		ssize_t n = pread(num(op, 0), buffer + num(op, 3), num(op, 1), num(op, 4) + k * num(op, 5));
		if (n < 0)
			return n;
		hash(op, buffer + num(op, 3), n);
		all += n;
	}
	return all;
}

VERB(pwrite)
{
	long long all = 0;
	for (int k = 0; k < num(op, 2); k++) {
		char *data = filled(op, k, num(op, 1), num(op, 3));
		ssize_t n = pwrite(num(op, 0), data, num(op, 1), num(op, 4) + k * num(op, 5));
		if (n < 0)
			return n;
		all += n;
	}
	return all;
}

/* FD OFFSET SIZE SIZE APPEND: by the cursor where the offset is -1; the second part lies right behind the first. */
static long long vector(struct op *op, int writing)
{
	struct iovec part[2] = {{buffer, num(op, 2)}, {buffer + num(op, 2), num(op, 3)}};
	int fd = num(op, 0);
	long long at = num(op, 1), n;
	if (writing)
		filled(op, 0, num(op, 2) + num(op, 3), 0);
	if (num(op, 4))
		n = pwritev2(fd, part, 2, at, RWF_APPEND);
	else if (at < 0)
		n = writing ? writev(fd, part, 2) : readv(fd, part, 2);
	else
		n = writing ? pwritev(fd, part, 2, at) : preadv(fd, part, 2, at);
	if (!writing && n >= 0)
		hash(op, buffer, n);
	return n;
}

VERB(readv)
{
	return vector(op, 0);
}

VERB(writev)
{
	return vector(op, 1);
}

VERB(lseek)
{
	return lseek(num(op, 0), num(op, 1), num(op, 2));
}

static long long size_of(int failed, const struct stat *st)
{
	return failed ? -1 : S_ISREG(st->st_mode) ? st->st_size : 0;
}

VERB(stat)
{
	struct stat st;
	return size_of(stat(path(op, 0), &st), &st);
}

VERB(lstat)
{
	struct stat st;
	return size_of(lstat(path(op, 0), &st), &st);
}

VERB(fstat)
{
	struct stat st;
	return size_of(fstat(num(op, 0), &st), &st);
}

VERB(truncate)
{
	return truncate(path(op, 0), num(op, 1));
}

VERB(ftruncate)
{
	return ftruncate(num(op, 0), num(op, 1));
}

VERB(fsync)
{
	return fsync(num(op, 0));
}

VERB(fdatasync)
{
	return fdatasync(num(op, 0));
}

VERB(rename)
{
	return rename(path(op, 0), path(op, 1));
}

VERB(link)
{
	return link(path(op, 0), path(op, 1));
}

VERB(unlink)
{
	return unlink(path(op, 0));
}

VERB(mkdir)
{
	return mkdir(path(op, 0), 0755);
}

VERB(rmdir)
{
	return rmdir(path(op, 0));
}

/* PATH HOW: by number, too */
VERB(chdir)
{
	return num(op, 1) ? syscall(SYS_chdir, path(op, 0)) : chdir(path(op, 0));
}

VERB(fchdir)
{
	return fchdir(num(op, 0));
}

static _Thread_local long long walked;

static int read_one(const char *name, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	if (type != FTW_F)
		return 0;
	int fd = open(name + at->base, O_RDONLY);
	ssize_t n = read(fd, buffer, 10);
	if (n < 0 || close(fd))
		return 1;
	walked += n;
	return 0;
}

/* Goes into each directory below this one, and reads ten bytes of each file there. */
VERB(walk)
{
	walked = 0;
	return nftw(path(op, 0), read_one, 10, FTW_CHDIR | FTW_PHYS) ? -1 : walked;
}

VERB(pipe)
{
	(void)op;
	int ends[2];
	return pipe(ends) ? -1 : ends[0] * 1000 + ends[1];
}

/* FD OFFSET SIZE HOW: other memory takes the place of the map, which was not touched. */
VERB(mapover)
{
	size_t size = num(op, 2);
	int memory = PROT_READ | PROT_WRITE, alone = MAP_PRIVATE | MAP_ANONYMOUS;
	char *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, num(op, 0), num(op, 1)), *over;
	if (map == MAP_FAILED)
		return -1;
	if (num(op, 3)) {
		over = mmap(NULL, size, memory, alone, -1, 0);
		over = mremap(over, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, map);
	} else {
		over = mmap(map, size, memory, alone | MAP_FIXED, -1, 0);
	}
	memset(over, 1, size);
	return munmap(over, size);
}

/* FD OFFSET SIZE */
VERB(mapread)
{
	char *map = mmap(NULL, num(op, 2), PROT_READ, MAP_SHARED, num(op, 0), num(op, 1));
	if (map == MAP_FAILED)
		return -1;
	hash(op, map, num(op, 2));
	return munmap(map, num(op, 2));
}

VERB(mapwrite)
{
	char *map = mmap(NULL, num(op, 2), PROT_READ | PROT_WRITE, MAP_SHARED, num(op, 0), num(op, 1));
	if (map == MAP_FAILED)
		return -1;
	memcpy(map, filled(op, 0, num(op, 2), 0), num(op, 2));
	return munmap(map, num(op, 2));
}

/* OUT IN OFFSET SIZE */
VERB(sendfile)
{
	off_t at = num(op, 2);
	return sendfile(num(op, 0), num(op, 1), at < 0 ? NULL : &at, num(op, 3));
}

/* IN OFFSET OUT OFFSET SIZE */
VERB(copyrange)
{
	loff_t from = num(op, 1), to = num(op, 3);
	return copy_file_range(num(op, 0), from < 0 ? NULL : &from, num(op, 2), to < 0 ? NULL : &to, num(op, 4), 0);
}

const struct verb call_verbs[] = {
	ROW(open),     ROW(openat),    ROW(openfd),    ROW(creat),   ROW(close),    ROW(closerange),
	ROW(dup),      ROW(dup2),      ROW(dup3),      ROW(dupfd),   ROW(append),   ROW(read),
	ROW(write),    ROW(lend),      ROW(pread),     ROW(pwrite),  ROW(readv),    ROW(writev),
	ROW(lseek),    ROW(stat),      ROW(lstat),     ROW(fstat),   ROW(truncate), ROW(ftruncate),
	ROW(fsync),    ROW(fdatasync), ROW(rename),    ROW(link),    ROW(unlink),   ROW(mkdir),
	ROW(rmdir),    ROW(chdir),     ROW(fchdir),    ROW(walk),    ROW(pipe),     ROW(mapread),
	ROW(mapwrite), ROW(sendfile),  ROW(copyrange), ROW(mapover), {0},
};
