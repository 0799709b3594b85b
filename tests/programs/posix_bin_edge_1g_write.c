#include "must.h"

static _Alignas(64) char buf[MIB + 8];

int main(void)
{
	struct iovec part[1024];
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0);
	for (int i = 0; i < 1024; i++)
		part[i] = (struct iovec){buf, MIB};
	MUST(pwritev(fd, part, 1024, 0) == 1073741824);
	part[1023].iov_len = MIB + 1;
	MUST(pwritev(fd, part, 1024, 0) == 1073741825);
	MUST(unlink("out") == 0);
	MUST(close(fd) == 0);
}
