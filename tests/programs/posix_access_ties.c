#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int sizes[] = {10, 20, 30, 40, 50, 20, 10};
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	for (int i = 0; i < 7; i++)
		MUST(pread(fd, buf, sizes[i], 0) == sizes[i]);
	MUST(close(fd) == 0);
}
