#include "must.h"

static _Alignas(64) char buf[MIB + 8];

int main(void)
{
	struct iovec part[1024];
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	for (int i = 0; i < 1024; i++)
		part[i] = (struct iovec){buf, MIB};
	MUST(preadv(fd, part, 1024, 0) == 1073741824);
	part[1023].iov_len = MIB + 1;
	MUST(preadv(fd, part, 1024, 0) == 1073741825);
	MUST(close(fd) == 0);
}
