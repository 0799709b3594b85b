#include "must.h"

static _Alignas(64) char buf[128];

static void read_and_close(int fd, size_t n)
{
	MUST(fd >= 0);
	MUST(read(fd, buf, n) == 10);
	MUST(close(fd) == 0);
}

int main(int argc, char **argv)
{
	size_t n = argc + 9;
	int flags = argc > 0 && argv ? O_RDONLY : O_WRONLY;
	int fd = open("in", flags);
	MUST(fd >= 0);
	MUST(pread(fd, buf, n, 0) == 10);
	MUST(pread64(fd, buf, n, 10) == 10);
	read_and_close(fd, n);
	read_and_close(open64("in", flags), n);
	read_and_close(openat(AT_FDCWD, "in", flags), n);
	read_and_close(openat64(AT_FDCWD, "in", flags), n);
}
