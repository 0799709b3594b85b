#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	for (int i = 0; i < 6500; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%04d", i);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		MUST(fd >= 0);
		MUST(write(fd, buf, 10) == 10);
		MUST(pread(fd, buf, 5, 0) == 5);
		MUST(close(fd) == 0);
		MUST(unlink(name) == 0);
	}
}
