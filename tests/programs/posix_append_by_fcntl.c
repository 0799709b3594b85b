#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("log", O_WRONLY);
	MUST(fd >= 0);
	MUST(fcntl(fd, F_SETFL, O_APPEND) == 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
