#include "must.h"

static _Alignas(64) char buf[128];

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(read(fd, buf, 128) == 100);
	MUST(read(fd, buf, 128) == 0);
	MUST(read(fd, buf, 128) == 0);
	MUST(close(fd) == 0);
}
