#include "must.h"

static _Alignas(64) char buf[256];

int main(void)
{
	struct iovec part[] = {{buf, 100}, {buf + 128, 28}};
	int fd = open("data", O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(pwritev(fd, part, 2, 0) == 128);
	MUST(pwritev(fd, part, 2, 128) == 128);
	MUST(preadv(fd, part, 2, 128) == 128);
	MUST(preadv(fd, part, 1, 0) == 100);
	MUST(close(fd) == 0);
}
