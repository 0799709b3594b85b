#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("data", O_RDWR);
	MUST(fd >= 0);
	for (int at = 0; at < 300; at += 100) {
		MUST(pread(fd, buf, 10, at) == 10);
		MUST(pwrite(fd, buf, 10, at + 50) == 10);
	}
	MUST(close(fd) == 0);
}
