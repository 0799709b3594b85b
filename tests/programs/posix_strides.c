#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int gaps[] = {5, 90, 7, 5, 3, 1000, 7, 90, 5};
	off_t at = 100;
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(pread(fd, buf, 10, at) == 10);
	for (int i = 0; i < 9; i++) {
		at += 10 + gaps[i];
		MUST(pread(fd, buf, 10, at) == 10);
	}
	MUST(close(fd) == 0);
}
