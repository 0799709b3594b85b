#include "template.h"

#include <fcntl.h>
#include <unistd.h>

long template_put(const char *name, const void *data, size_t n)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
	long put = fd < 0 ? -1 : write(fd, data, n);
	if (fd >= 0)
		close(fd);
	return put;
}

long template_get(const char *name, void *data, size_t n)
{
	int fd = open(name, O_RDONLY);
	long got = fd < 0 ? -1 : read(fd, data, n);
	if (fd >= 0)
		close(fd);
	return got;
}

int template_sync(const char *name)
{
	int fd = open(name, O_RDONLY);
	int result = fd < 0 ? -1 : fsync(fd);
	if (fd >= 0)
		close(fd);
	return result;
}
