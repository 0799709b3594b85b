#include "traces_ahead.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"

static bool read_all(const char *path, void *to, size_t n, uint64_t at)
{
	int fd = descriptor_open(path, O_RDONLY | O_NOFOLLOW, 0);
	bool good = fd >= 0;
	for (size_t done = 0; good && done < n;) {
		ssize_t got = pread(fd, (uint8_t *)to + done, n - done, (off_t)(at + done));
		good = got > 0;
		done += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	return good;
}

bool traces_ahead_load(struct traces_ahead *t, const struct store_reader *i, const char *path)
{
	return read_all(path, t, sizeof *t, 0) && !memcmp(t->magic, TRACES_AHEAD_MAGIC, sizeof t->magic) &&
	       t->used == i->state->trace.used;
}

int traces_ahead_read(const struct traces_ahead *t, const char *path, enum traces_ahead_part part, int interface,
		      struct log_bytes *out)
{
	size_t n = t->part[part][interface].stored;
	out->used = 0;
	if (log_bytes_room(out, n) < 0)
		return LOG_E_MEMORY;
	out->used = n;
	return !n || read_all(path, out->at, n, t->part[part][interface].offset) ? 0 : LOG_E_IO;
}
