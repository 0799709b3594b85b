/* Descriptors that syscall() closes and replaces. */
#include "must.h"

#include <sys/syscall.h>

static char block[100];

static int opened(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && write(fd, block, 10) == 10);
	return fd;
}

int main(void)
{
	int ends[2], fd = opened("closed"), other = opened("replaced");
	MUST(syscall(SYS_close, fd) == 0);
	MUST(pipe(ends) == 0 && ends[0] == fd);
	MUST(syscall(SYS_dup2, ends[1], other) == other);
	MUST(write(other, block, 100) == 100 && read(fd, block, 100) == 100);
	MUST(close(other) == 0);
	fd = opened("ranged");
	MUST(syscall(436, fd, fd, 0) == 0);
	MUST(syscall(SYS_open, "raw", O_RDWR | O_CREAT | O_TRUNC, 0600) == fd);
	MUST(write(fd, block, 100) == 100);
}
