#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int descriptor_open(const char *path, int flags, unsigned mode)
{
	int fd = open(path, flags | O_CLOEXEC, mode);
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int saved = errno;
	close(fd);
	errno = saved;
	return above;
}

bool descriptor_read_file(const char *path, void *to, size_t n, uint64_t at)
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
