#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	for (int n = 0; n <= 31; n++)
		MUST(pread(fd, buf, n, 0) == n);
	for (int i = 0; i < 3; i++)
		MUST(pread(fd, buf, 40, 0) == 40);
	MUST(close(fd) == 0);
}
