#include "must.h"

static _Alignas(64) char buf[256];

int main(void)
{
	struct iovec part[] = {{buf, 8}, {buf + 64, 16}, {buf + 128, 32}};
	int fd = open("data", O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(writev(fd, part, 3) == 56);
	MUST(writev(fd, part, 2) == 24);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(readv(fd, part, 3) == 56);
	MUST(readv(fd, part, 3) == 24);
	MUST(close(fd) == 0);
}
