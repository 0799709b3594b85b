#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int ends[2];
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0 && pipe(ends) == 0);
	MUST(write(ends[1], buf, 16) == 16);
	MUST(dup2(fd, ends[1]) == ends[1]);
	MUST(write(ends[1], buf, 10) == 10);
	MUST(dup2(ends[0], fd) == fd);
	MUST(read(fd, buf, 16) == 16);
	MUST(close(fd) == 0);
	MUST(close(ends[0]) == 0);
	MUST(close(ends[1]) == 0);
}
