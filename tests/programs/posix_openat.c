#include "must.h"

static _Alignas(64) char buf[16];

static void read_and_close(int fd)
{
	MUST(fd >= 0);
	MUST(read(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

int main(void)
{
	char absolute[4096 + 16];
	int dir = open("sub", O_RDONLY | O_DIRECTORY);
	MUST(dir >= 0);
	MUST(getcwd(absolute, 4096) != NULL);
	strcat(absolute, "/absolute");
	read_and_close(openat(AT_FDCWD, "here", O_RDONLY));
	read_and_close(openat(dir, "below", O_RDONLY));
	read_and_close(openat64(dir, "below", O_RDONLY));
	read_and_close(openat(dir, absolute, O_RDONLY));
	read_and_close(openat(-1, absolute, O_RDONLY));
	MUST(close(dir) == 0);
}
