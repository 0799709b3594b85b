#include "must.h"

static _Alignas(64) char buf[2 * MIB];

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(write(fd, buf, MIB) == MIB);
	MUST(write(fd, buf, MIB + 1) == MIB + 1);
	MUST(write(fd, buf, MIB - 1) == MIB - 1);
	MUST(write(fd, buf, 1) == 1);
	MUST(close(fd) == 0);
}
