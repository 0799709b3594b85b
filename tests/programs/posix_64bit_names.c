#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open64("data", O_RDWR | O_CREAT, 0644);
	struct iovec part = {buf, 10};
	MUST(fd >= 0);
	MUST(pwrite64(fd, buf, 10, 0) == 10);
	MUST(pwritev64(fd, &part, 1, 10) == 10);
	MUST(pwritev64v2(fd, &part, 1, 20, 0) == 10);
	MUST(lseek64(fd, 30, SEEK_SET) == 30);
	MUST(write(fd, buf, 10) == 10);
	MUST(pread64(fd, buf, 10, 0) == 10);
	MUST(preadv64(fd, &part, 1, 10) == 10);
	MUST(preadv64v2(fd, &part, 1, 20, 0) == 10);
	MUST(close(fd) == 0);
	MUST((fd = openat64(AT_FDCWD, "data", O_RDONLY)) >= 0);
	MUST(close(fd) == 0);
}
