#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("log", O_WRONLY | O_APPEND);
	MUST(fd >= 0);
	MUST(pwrite(fd, buf, 10, 5) == 10);
	MUST(pwrite(fd, buf, 10, 5) == 10);
	MUST(close(fd) == 0);
}
