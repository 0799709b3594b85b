#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("old", O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(rename("old", "new") == 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
	fd = open("new", O_RDONLY);
	MUST(read(fd, buf, 16) == 16);
	MUST(close(fd) == 0);
}
