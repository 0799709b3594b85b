#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(lseek(fd, 100, SEEK_SET) == 100);
	MUST(read(fd, buf, 10) == 10);
	MUST(lseek(fd, 20, SEEK_CUR) == 130);
	MUST(read(fd, buf, 10) == 10);
	MUST(lseek(fd, -50, SEEK_END) == 350);
	MUST(read(fd, buf, 64) == 50);
	MUST(lseek(fd, 0, SEEK_CUR) == 400);
	MUST(lseek(fd, -1, SEEK_SET) == -1);
	MUST(close(fd) == 0);
}
