#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int fd = open("sparse", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(pwrite(fd, buf, 64, 5368709120) == 64);
	MUST(lseek(fd, 5368709120, SEEK_SET) == 5368709120);
	MUST(read(fd, buf, 32) == 32);
	MUST(read(fd, buf, 32) == 32);
	MUST(close(fd) == 0);
}
