#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.h"

static int source_measure(struct source *s, struct log_error *err)
{
	struct stat st;
	if (fstat(s->fd, &st) < 0)
		return log_fail_system(err, "cannot be examined");
	if (S_ISDIR(st.st_mode))
		return log_fail(err, LOG_E_NOT_LOG, LOG_NOWHERE, "is a directory");
	if (!S_ISREG(st.st_mode))
		return log_fail(err, LOG_E_NOT_LOG, LOG_NOWHERE, "is not a regular file");
	s->size = (uint64_t)st.st_size;
	return LOG_OK;
}

int source_open_file(struct source *s, const char *path, struct log_error *err)
{
	return source_open_descriptor(s, descriptor_open(path, O_RDONLY | O_NONBLOCK, 0), err);
}

int source_open_descriptor(struct source *s, int fd, struct log_error *err)
{
	*s = (struct source){.fd = fd};
	if (s->fd < 0)
		return log_fail_system(err, "cannot be opened");
	int code = source_measure(s, err);
	if (code < 0)
		source_close(s);
	return code;
}

void source_open_memory(struct source *s, const void *data, size_t size)
{
	*s = (struct source){.fd = -1, .memory = data, .size = size};
}

void source_close(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int file_read(const struct source *s, uint64_t offset, uint8_t *out, size_t n, struct log_error *err)
{
	while (n) {
		ssize_t got = pread(s->fd, out, n, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return log_fail_system(err, "cannot be read");
		if (!got)
			return log_fail(err, LOG_E_TRUNCATED, offset, "file became shorter while being read");
		out += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return LOG_OK;
}

int source_read(const struct source *s, uint64_t offset, void *out, size_t n, struct log_error *err)
{
	if (offset > s->size || n > s->size - offset)
		return log_fail(err, LOG_E_TRUNCATED, s->size, "file ends too early");
	if (s->fd >= 0)
		return file_read(s, offset, out, n, err);
	if (n)
		memcpy(out, s->memory + offset, n);
	return LOG_OK;
}
