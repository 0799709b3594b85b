#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int fd = open("/etc/passwd", O_RDONLY);
	MUST(fd >= 0);
	MUST(read(fd, buf, 16) == 16);
	MUST(pread(fd, buf, 16, 0) == 16);
	int copy = dup(fd);
	MUST(read(copy, buf, 1) == 1);
	MUST(close(copy) == 0);
	MUST(close(fd) == 0);
	MUST((fd = open("/etc/passwd", O_RDONLY)) >= 0);
	MUST(close(fd) == 0);
}
