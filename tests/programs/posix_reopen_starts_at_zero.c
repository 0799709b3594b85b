#include "must.h"

static _Alignas(64) char buf[128];

int main(void)
{
	for (int i = 0; i < 3; i++) {
		int fd = open("in", O_RDONLY);
		MUST(fd >= 0);
		MUST(read(fd, buf, 100) == 100);
		MUST(read(fd, buf, 100) == 100);
		MUST(close(fd) == 0);
	}
}
