#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	struct stat st;
	int fd = open("in", O_PATH);
	MUST(fd >= 0);
	MUST(fstat(fd, &st) == 0);
	MUST(read(fd, buf, 10) == -1 && errno == EBADF);
	MUST(close(fd) == 0);
}
