#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = creat("a", 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
	MUST((fd = creat64("b", 0640)) >= 0);
	MUST(close(fd) == 0);
}
