#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	for (int at = 300; at >= 0; at -= 100)
		MUST(pread(fd, buf, 10, at) == 10);
	MUST(pread(fd, buf, 10, 9) == 10);
	MUST(close(fd) == 0);
}
