#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("data", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(pread(fd, buf, 10, 0) == 10);
	MUST(pread(fd, buf, 10, 0) == 10);
	MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(fsync(fd) == 0);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(close(fd) == 0);
}
