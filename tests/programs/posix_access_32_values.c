#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	for (int n = 1; n <= 32; n++)
		MUST(pread(fd, buf, n, 0) == n);
	for (int i = 0; i < 50; i++)
		MUST(pread(fd, buf, 33, 0) == 33);
	MUST(pread(fd, buf, 7, 0) == 7);
	MUST(close(fd) == 0);
}
