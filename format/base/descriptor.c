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
