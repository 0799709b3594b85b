#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("in", O_RDONLY);
	int copy = dup(fd);
	MUST(copy >= 0);
	MUST(lseek(copy, 50, SEEK_SET) == 50);
	MUST(read(fd, buf, 10) == 10);
	MUST(close(copy) == 0);
	MUST(close(fd) == 0);
}
