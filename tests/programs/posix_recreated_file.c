#include "must.h"

static _Alignas(64) char buf[16];

static void make(void)
{
	int fd = open("file", O_WRONLY | O_CREAT | O_EXCL, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

int main(void)
{
	make();
	MUST(unlinkat(AT_FDCWD, "file", 0) == 0);
	make();
	MUST(remove("file") == 0);
}
