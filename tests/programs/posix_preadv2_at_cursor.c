#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	struct iovec part = {buf, 10};
	int fd = open("data", O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(pwritev2(fd, &part, 1, -1, 0) == 10);
	MUST(pwritev2(fd, &part, 1, 50, 0) == 10);
	MUST(pwritev2(fd, &part, 1, -1, 0) == 10);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(preadv2(fd, &part, 1, -1, 0) == 10);
	MUST(preadv2(fd, &part, 1, -1, 0) == 10);
	MUST(preadv2(fd, &part, 1, 50, 0) == 10);
	MUST(close(fd) == 0);
}
