#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("gone", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(unlink("gone") == 0);
	MUST(unlink("gone") == -1);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
