#include "must.h"

static _Alignas(64) char buf[128];

int main(int argc, char **argv)
{
	size_t n = argc + 9;
	int flags = argc > 0 && argv ? O_RDONLY : O_WRONLY;
	int fd = open("in", flags);
	MUST(fd >= 0);
	MUST(read(fd, buf, n) == 10);
	MUST(pread(fd, buf, n, 10) == 10);
	MUST(close(fd) == 0);
	MUST((fd = openat(AT_FDCWD, "in", flags)) >= 0);
	MUST(read(fd, buf, n) == 10);
	MUST(close(fd) == 0);
}
