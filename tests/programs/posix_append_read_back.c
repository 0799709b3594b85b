#include "must.h"

static _Alignas(64) char buf[128];

int main(void)
{
	int fd = open("log", O_RDWR | O_APPEND);
	MUST(fd >= 0);
	MUST(read(fd, buf, 40) == 40);
	MUST(write(fd, buf, 10) == 10);
	MUST(read(fd, buf, 10) == 0);
	MUST(close(fd) == 0);
}
