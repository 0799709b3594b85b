#include "must.h"

static _Alignas(64) char buf[MIB];

static void write_bytes(int fd, size_t n)
{
	struct iovec part[128];
	int parts = 0;
	for (size_t left = n; left > 0; left -= part[parts++].iov_len)
		part[parts] = (struct iovec){buf, left < sizeof buf ? left : sizeof buf};
	MUST(pwritev(fd, part, parts, 0) == (ssize_t)n);
}

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0);
	write_bytes(fd, 4194304);
	write_bytes(fd, 4194305);
	write_bytes(fd, 10485760);
	write_bytes(fd, 10485761);
	write_bytes(fd, 104857600);
	write_bytes(fd, 104857601);
	MUST(close(fd) == 0);
}
