#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int fd = open("out", O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(lseek(fd, 4 * MIB, SEEK_SET) == 4 * MIB);
	MUST(write(fd, buf, 64) == 64);
	MUST(lseek(fd, 0, SEEK_END) == 4 * MIB + 64);
	MUST(write(fd, buf, 64) == 64);
	off_t data = lseek(fd, 0, SEEK_DATA);
	MUST(data >= 0);
	MUST(pwrite(fd, buf, 64, 0) == 64);
	MUST(close(fd) == 0);
}
