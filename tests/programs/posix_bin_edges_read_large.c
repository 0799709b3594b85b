#include "must.h"

static _Alignas(64) char buf[MIB];

static void read_bytes(int fd, size_t n)
{
	struct iovec part[128];
	int parts = 0;
	for (size_t left = n; left > 0; left -= part[parts++].iov_len)
		part[parts] = (struct iovec){buf, left < sizeof buf ? left : sizeof buf};
	MUST(preadv(fd, part, parts, 0) == (ssize_t)n);
}

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	read_bytes(fd, 4194304);
	read_bytes(fd, 4194305);
	read_bytes(fd, 10485760);
	read_bytes(fd, 10485761);
	read_bytes(fd, 104857600);
	read_bytes(fd, 104857601);
	MUST(close(fd) == 0);
}
