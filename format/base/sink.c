#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptor.h"

#define SUFFIX  ".darshan"
#define PARTIAL ".darshan_partial"

enum { CREATED = 0400 /* its permissions */ };

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

static bool ends_with(const char *text, size_t n, const char *end)
{
	size_t m = strlen(end);
	return n >= m && !memcmp(text + n - m, end, m);
}

static int make_names(struct sink *s, const char *path, struct log_error *err)
{
	size_t n = strlen(path);
	size_t stem = ends_with(path, n, SUFFIX) ? n - strlen(SUFFIX) : n;
	s->path = log_alloc(n + 1);
	s->partial = log_alloc(stem + sizeof PARTIAL);
	if (!s->path || !s->partial)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	memcpy(s->path, path, n);
	memcpy(s->partial, path, stem);
	memcpy(s->partial + stem, PARTIAL, sizeof PARTIAL);
	return LOG_OK;
}

static void forget_partial(struct sink *s)
{
	log_free(s->partial);
	s->partial = NULL;
}

/*
 * The writer holds a lock on its file for as long as it lives. An unlocked file belongs to a dead writer:
 * it makes way.
 */
static bool remove_stale(const char *partial)
{
	struct stat s;
	int fd = descriptor_open(partial, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	bool stale = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
		     flock(fd, LOCK_EX | LOCK_NB) == 0 && unlink(partial) == 0;
	if (fd >= 0)
		close(fd);
	return stale;
}

static int create(const char *partial)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	int fd = descriptor_open(partial, flags, CREATED);
	if (fd < 0 && errno == EEXIST && remove_stale(partial))
		fd = descriptor_open(partial, flags, CREATED);
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

int sink_open_file(struct sink *s, const char *path, struct log_error *err)
{
	*s = (struct sink){.fd = -1};
	int code = make_names(s, path, err);
	if (code >= 0) {
		s->fd = create(s->partial);
		if (s->fd < 0 && errno == EWOULDBLOCK)
			code = log_fail(err, LOG_E_EXISTS, LOG_NOWHERE, "another process is writing it");
		else if (s->fd < 0)
			code = log_fail_system(err, "temporary file of the log cannot be made");
	}
	if (code < 0) {
		forget_partial(s);
		sink_close(s);
	}
	return code;
}

void sink_open_memory(struct sink *s)
{
	*s = (struct sink){.fd = -1};
}

static int file_write(struct sink *s, uint64_t at, const uint8_t *data, size_t n, struct log_error *err)
{
	while (n) {
		ssize_t put = pwrite(s->fd, data, n, (off_t)at);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return log_fail_system(err, "log cannot be written");
		data += put;
		at += (uint64_t)put;
		n -= (size_t)put;
	}
	return LOG_OK;
}

enum { BUFFER = 65536 };

int sink_flush(struct sink *s, struct log_error *err)
{
	size_t n = s->memory.used;
	if (!s->path)
		return LOG_OK;
	s->memory.used = 0;
	return n ? file_write(s, s->at - n, s->memory.at, n, err) : LOG_OK;
}

static int file_add(struct sink *s, const void *data, size_t n, struct log_error *err)
{
	int code =
		s->memory.used + n > BUFFER ? sink_flush(s, err) : log_bytes_room(&s->memory, BUFFER - s->memory.used);
	if (code < 0)
		return code;
	return n < BUFFER ? log_bytes_add(&s->memory, data, n) : file_write(s, s->at, data, n, err);
}

int sink_write(struct sink *s, const void *data, size_t n, struct log_error *err)
{
	int code = s->path ? file_add(s, data, n, err) : log_bytes_add(&s->memory, data, n);
	if (code == LOG_E_MEMORY)
		log_fail(err, code, LOG_NOWHERE, "not enough memory");
	s->at += n;
	return code;
}

int sink_patch(struct sink *s, uint64_t at, const void *data, size_t n, struct log_error *err)
{
	uint64_t written = s->path ? s->at - s->memory.used : 0;
	if (at >= written) {
		memcpy(s->memory.at + (at - written), data, n);
		return LOG_OK;
	}
	int code = sink_flush(s, err);
	return code < 0 ? code : file_write(s, at, data, n, err);
}

/* Where the kernel or the file system cannot rename without replacing, a hard link does the same. */
static int rename_new(const char *from, const char *to)
{
	if (!syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != ENOSYS && errno != EINVAL)
		return -1;
	if (link(from, to) < 0)
		return -1;
	unlink(from);
	return 0;
}

void sink_mode(struct sink *s, unsigned mode)
{
	s->mode = mode;
}

int sink_skip(struct sink *s, uint64_t n, struct log_error *err)
{
	if (!s->path)
		return log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "no other process writes into memory");
	int code = sink_flush(s, err);
	s->at += n;
	return code;
}

int sink_share(struct sink *s, uint64_t *inode, int64_t *changed, struct log_error *err)
{
	struct stat f;
	if (s->fd < 0)
		return log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "no other process writes into memory");
	if (fchmod(s->fd, 0600) < 0 || fstat(s->fd, &f) < 0)
		return log_fail_system(err, "temporary file of the log cannot be shared");
	*inode = f.st_ino;
	*changed = f.st_ctim.tv_sec * INT64_C(1000000000) + f.st_ctim.tv_nsec;
	s->mode = s->mode ? s->mode : CREATED;
	return LOG_OK;
}

/* File systems that cannot sync a directory keep its names by other means. */
static void sync_directory_of(char *path)
{
	char *end = strrchr(path, '/'), kept = '\0';
	if (end) {
		kept = end[1];
		end[1] = '\0';
	}
	int fd = descriptor_open(end ? path : ".", O_RDONLY | O_DIRECTORY, 0);
	if (end)
		end[1] = kept;
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

int sink_finish(struct sink *s, struct log_error *err)
{
	if (!s->path)
		return LOG_OK;
	int code = sink_flush(s, err);
	if (code < 0)
		return code;
	if (s->mode && fchmod(s->fd, s->mode) < 0)
		return log_fail_system(err, "log cannot get its permissions");
	int written = s->durable ? fsync(s->fd) : 0;
	int closed = close(s->fd);
	s->fd = -1;
	if (written < 0 || closed < 0)
		return log_fail_system(err, "log cannot be written");
	if (rename_new(s->partial, s->path) < 0)
		return log_fail_system(err, errno == EEXIST ? "is there already" : "log cannot get its final name");
	if (s->durable)
		sync_directory_of(s->path);
	forget_partial(s);
	return LOG_OK;
}

void sink_close(struct sink *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->partial)
		unlink(s->partial);
	forget_partial(s);
	log_free(s->path);
	log_bytes_free(&s->memory);
	*s = (struct sink){.fd = -1};
}
