#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	off_t at = 100;
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(pread(fd, buf, 10, at) == 10);
	for (int gap = 1; gap <= 31; gap++)
		MUST(pread(fd, buf, 10, at += 10 + gap) == 10);
	for (int i = 0; i < 3; i++)
		MUST(pread(fd, buf, 10, at += 10 + 500) == 10);
	MUST(pread(fd, buf, 10, at += 10 + 4) == 10);
	MUST(close(fd) == 0);
}
