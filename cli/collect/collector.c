#include "collector.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "container.h"
#include "logname.h"

enum { OLDEST_DAYS = 62, DAY = 86400, REASON = 4096 };

/* ---- the two directories ---- */

static bool others_may_write(const struct stat *s)
{
	return s->st_mode & (S_IWGRP | S_IWOTH);
}

static int open_directory(int at, const char *path, struct stat *s)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		fstat(fd, s);
	return fd;
}

/* Files of one overlayfs have the device numbers of its layers. */
static int mount_of(int fd)
{
	char path[64], line[128];
	int number = -1;
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	FILE *in = fopen(path, "re");
	while (in && number < 0 && fgets(line, sizeof line, in))
		sscanf(line, "mnt_id: %d", &number);
	if (in)
		fclose(in);
	return number;
}

int collector_open(struct collector *c, const char *spool, const char *area)
{
	struct stat s;
	c->area = -1;
	c->spool = open_directory(AT_FDCWD, spool, &s);
	if (c->spool < 0)
		return cli_fail(CLI_INPUT, "collect: %s: %s", spool, strerror(errno));
	c->mount = mount_of(c->spool);
	if (s.st_uid != geteuid())
		return cli_fail(CLI_INPUT, "collect: %s: belongs to user %u: chown it to the user that collects", spool,
				(unsigned)s.st_uid);
	c->area = open_directory(AT_FDCWD, area, &s);
	if (c->area < 0)
		return cli_fail(CLI_INPUT, "collect: %s: %s", area, strerror(errno));
	if (s.st_uid != geteuid() || others_may_write(&s))
		return cli_fail(CLI_INPUT,
				"collect: %s: other users may write there: chown it to the user that collects, and "
				"chmod go-w",
				area);
	if (flock(c->spool, LOCK_EX | LOCK_NB) != 0)
		return cli_fail(CLI_PARTIAL, "collect: %s: another iolens collect works on it", spool);
	return CLI_OK;
}

void collector_close(struct collector *c)
{
	if (c->spool >= 0)
		close(c->spool);
	if (c->area >= 0)
		close(c->area);
}

/* ---- a file of the spool ---- */

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), of = strlen(suffix);
	return n > of && strcmp(name + n - of, suffix) == 0;
}

bool collector_wants(const char *name)
{
	return *name != '.' && (ends_in(name, ".darshan") || ends_in(name, LOGNAME_UNOBSERVED));
}

/* As <linux/openat2.h> has them, which older systems lack. */
struct how {
	uint64_t flags, mode, resolve;
};
enum { NO_OTHER_MOUNT = 0x01, OPENAT2 = 437 };

/*
 * Nothing happens to what is named, whatever it is: no pipe gets a reader, no device is opened. Nor is a mount entered, whose
 * file system may be a program of the user's that never answers; before Linux 5.6 that is found out after.
 */
static int resolve(const struct collector *c, const char *name)
{
	const struct how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = NO_OTHER_MOUNT};
	int fd = (int)syscall(OPENAT2, c->spool, name, &how, sizeof how);
	if (fd >= 0 || errno != ENOSYS)
		return fd;
	fd = openat(c->spool, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (c->mount >= 0 && mount_of(fd) == c->mount))
		return fd;
	close(fd);
	errno = EXDEV;
	return -1;
}

static const char *judge(const struct collector *c, const struct stat *s)
{
	if (S_ISLNK(s->st_mode))
		return "a link";
	if (!S_ISREG(s->st_mode))
		return "no regular file";
	if (s->st_nlink != 1)
		return "has another name elsewhere";
	if (s->st_size > c->limit)
		return "larger than --limit";
	return NULL;
}

/* A link could lead to another user's file, and the copy would show its content: only logs are copied. */
static bool is_log(int from)
{
	unsigned char header[16];
	int64_t magic;
	if (pread(from, header, sizeof header, 0) != sizeof header)
		return false;
	memcpy(&magic, header + 8, sizeof magic);
	return magic == CONTAINER_MAGIC || magic == (int64_t)__builtin_bswap64(CONTAINER_MAGIC);
}

static bool same_state(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_uid == b->st_uid &&
	       a->st_nlink == b->st_nlink && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The file itself, open for reading: by its descriptor, not by its name again. */
static int open_file(const struct collector *c, const char *name, struct stat *s, const char **why)
{
	char path[64];
	int found = resolve(c, name), from = -1;
	*why = NULL;
	if (found < 0 || fstat(found, s) != 0)
		*why = errno == EXDEV ? "of another file system" : strerror(errno);
	else if (!(*why = judge(c, s))) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", found);
		from = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (from < 0)
			*why = strerror(errno);
		else if (ends_in(name, ".darshan") && !is_log(from))
			*why = "no log";
		else if (!ends_in(name, ".darshan") && s->st_size > REASON)
			*why = "no reason is that long";
	}
	if (found >= 0)
		close(found);
	if (*why && from >= 0)
		close(from);
	return *why ? -1 : from;
}

/* ---- its copy ---- */

/* Below the area, made where it is not: neither a link nor a directory that others can change. */
static int enter(int at, int number)
{
	char name[16];
	struct stat s;
	snprintf(name, sizeof name, "%d", number);
	if (mkdirat(at, name, 0755) != 0 && errno != EEXIST)
		return -1;
	int fd = open_directory(at, name, &s);
	if (fd < 0 || (s.st_uid == geteuid() && !others_may_write(&s)))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* When the log was made; what a user has made of that time is not believed beyond two months. */
static int day_directory(const struct collector *c, const struct stat *s, const char **why)
{
	static char refused[256];
	char path[64];
	time_t now = time(NULL), at = s->st_mtim.tv_sec;
	struct tm t;
	if (at > now || at < now - (time_t)OLDEST_DAYS * DAY)
		at = now;
	localtime_r(&at, &t);
	const int numbers[] = {t.tm_year + 1900, t.tm_mon + 1, t.tm_mday};
	static int on_disk; /* the day whose directories are, whichever collector made them */
	int fd = c->area, day = (numbers[0] * 100 + numbers[1]) * 100 + numbers[2], used = 0;
	for (int n = 0; n < 3 && fd >= 0; n++) {
		int below = enter(fd, numbers[n]), failure = errno;
		used += snprintf(path + used, sizeof path - (size_t)used, "%s%d", n ? "/" : "", numbers[n]);
		if (day != on_disk)
			fsync(fd);
		if (fd != c->area)
			close(fd);
		if (below < 0)
			snprintf(refused, sizeof refused, "%s of the area: %s", path,
				 failure == EPERM ? "others may write there: chown it to the user that collects, and "
						    "chmod go-w"
						  : strerror(failure));
		fd = below;
	}
	on_disk = fd < 0 ? on_disk : day;
	*why = refused;
	return fd;
}

static bool copy_bytes(int from, int to, int64_t size)
{
	static char block[1 << 16];
	for (int64_t at = 0; at < size;) {
		size_t most = size - at < (int64_t)sizeof block ? (size_t)(size - at) : sizeof block;
		ssize_t got = pread(from, block, most, at);
		if (got <= 0 || write(to, block, (size_t)got) != got) {
			errno = got > 0 && !errno ? ENOSPC : errno;
			return false;
		}
		at += got;
	}
	return true;
}

/* Whose it was, and when: the owner keeps the right to read it, and cannot remove it. */
static bool finish_copy(const struct collector *c, int to, const struct stat *s, bool log)
{
	const struct timespec times[2] = {s->st_mtim, s->st_mtim};
	gid_t group = c->has_group && log ? c->group : s->st_gid;
	mode_t mode = c->has_group && log ? 0440 : 0400;
	return fchown(to, s->st_uid, group) == 0 && fchmod(to, mode) == 0 && futimens(to, times) == 0 && fsync(to) == 0;
}

/* One that was killed between the copy's last name and the removal has left this. */
static bool is_there(int day, const char *name, const struct stat *s)
{
	struct stat t;
	return fstatat(day, name, &t, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(t.st_mode) && t.st_uid == s->st_uid &&
	       t.st_size == s->st_size && t.st_mtim.tv_sec == s->st_mtim.tv_sec &&
	       t.st_mtim.tv_nsec == s->st_mtim.tv_nsec;
}

static enum collected copy(const struct collector *c, int from, const char *name, const struct stat *s,
			   const char **why)
{
	char partial[NAME_MAX + 16];
	struct stat now;
	enum collected result = COLLECT_FAILED;
	int day = day_directory(c, s, why);
	if (day < 0)
		return COLLECT_FAILED;
	snprintf(partial, sizeof partial, ".%.*s_partial", NAME_MAX - 16, name);
	unlinkat(day, partial, 0); /* of a killed one: there is no other at work */
	int to = openat(day, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	errno = to >= 0 ? 0 : errno;
	if (to < 0 || !copy_bytes(from, to, s->st_size) || !finish_copy(c, to, s, ends_in(name, ".darshan")))
		*why = strerror(errno);
	else if (fstat(from, &now) != 0 || !same_state(s, &now))
		*why = "changes while it is copied", result = COLLECT_LATER;
	else if (linkat(day, partial, day, name, 0) == 0 || (errno == EEXIST && is_there(day, name, s)))
		result = COLLECTED;
	else
		*why = errno == EEXIST ? "the area has another one of this name" : strerror(errno),
		result = errno == EEXIST ? COLLECT_REFUSED : COLLECT_FAILED;
	if (to >= 0) {
		close(to);
		unlinkat(day, partial, 0);
	}
	if (result == COLLECTED && fsync(day) != 0 && errno != EINVAL) /* before the original goes */
		*why = strerror(errno), result = COLLECT_FAILED;
	close(day);
	return result;
}

/* What its owner has put in its place meanwhile stays for the next time. */
static void remove_original(const struct collector *c, const char *name, const struct stat *s)
{
	struct stat now;
	int found = resolve(c, name);
	if (found >= 0 && fstat(found, &now) == 0 && now.st_dev == s->st_dev && now.st_ino == s->st_ino)
		unlinkat(c->spool, name, 0);
	if (found >= 0)
		close(found);
}

enum collected collector_take(const struct collector *c, const char *name, const char **why)
{
	struct stat s;
	int from = open_file(c, name, &s, why);
	if (from < 0)
		return COLLECT_REFUSED;
	enum collected result = copy(c, from, name, &s, why);
	close(from);
	if (result == COLLECTED)
		remove_original(c, name, &s);
	return result;
}
