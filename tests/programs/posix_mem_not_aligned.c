#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	struct iovec one_odd[] = {{buf, 8}, {buf + 9, 8}, {buf + 24, 8}};
	struct iovec all_odd[] = {{buf + 1, 8}, {buf + 12, 8}};
	struct iovec even[] = {{buf + 8, 8}, {buf + 16, 8}};
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(pread(fd, buf, 16, 0) == 16);
	MUST(pread(fd, buf + 8, 16, 0) == 16);
	MUST(pread(fd, buf + 4, 16, 0) == 16);
	MUST(pread(fd, buf + 1, 16, 0) == 16);
	MUST(preadv(fd, one_odd, 3, 0) == 24);
	MUST(preadv(fd, all_odd, 2, 0) == 16);
	MUST(preadv(fd, even, 2, 0) == 16);
	MUST(close(fd) == 0);
}
