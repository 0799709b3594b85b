#include "must.h"

#include <sys/uio.h>

static char block[100];

int main(void)
{
	struct iovec v = {block, sizeof block};
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && write(fd, block, 100) == 100);
	MUST(pwritev2(fd, &v, 1, 0, 0x10) == 100);
	MUST(lseek(fd, 10, SEEK_SET) == 10);
	MUST(pwritev2(fd, &v, 1, -1, 0x10) == 100);
	MUST(write(fd, block, 100) == 100);
	MUST(close(fd) == 0);
}
