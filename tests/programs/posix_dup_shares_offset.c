#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	int copy = dup(fd);
	MUST(copy >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(write(copy, buf, 10) == 10);
	MUST(close(fd) == 0);
	MUST(write(copy, buf, 10) == 10);
	MUST(close(copy) == 0);
}
