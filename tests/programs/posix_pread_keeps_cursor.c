#include "must.h"

static _Alignas(64) char buf[128];

int main(void)
{
	int fd = open("data", O_RDWR);
	MUST(fd >= 0);
	MUST(read(fd, buf, 100) == 100);
	MUST(pread(fd, buf, 10, 500) == 10);
	MUST(pwrite(fd, buf, 10, 700) == 10);
	MUST(read(fd, buf, 100) == 100);
	MUST(close(fd) == 0);
}
