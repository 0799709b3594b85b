#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("log", O_WRONLY | O_APPEND);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(write(fd, buf, 10) == 10);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
