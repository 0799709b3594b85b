#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(pread(fd, buf, 1, 0) == 1);
	MUST(pread(fd, buf, 10, 50) == 10);
	MUST(pread(fd, buf, 10, 80) == 10);
	MUST(close(fd) == 0);
}
