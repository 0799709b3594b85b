#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
	MUST(close(fd) == -1);
	MUST(syscall(SYS_openat, AT_FDCWD, "other", O_RDONLY) == fd);
	MUST(read(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
