#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	struct stat st;
	void *nowhere = (void *)(intptr_t)atoi("8");
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(open("missing", O_RDONLY) == -1 && errno == ENOENT);
	MUST(open("missing/x", O_WRONLY | O_CREAT, 0600) == -1 && errno == ENOENT);
	MUST(open("in", O_WRONLY | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	MUST(read(-1, buf, 10) == -1 && errno == EBADF);
	MUST(read(fd, nowhere, 10) == -1 && errno == EFAULT);
	MUST(write(fd, buf, 10) == -1 && errno == EBADF);
	MUST(pwrite(fd, buf, 10, 0) == -1 && errno == EBADF);
	MUST(pread(fd, buf, 10, -5) == -1 && errno == EINVAL);
	MUST(lseek(fd, 0, 77) == -1 && errno == EINVAL);
	MUST(dup2(fd, -1) == -1 && errno == EBADF);
	MUST(dup(-1) == -1 && errno == EBADF);
	MUST(fsync(-1) == -1 && errno == EBADF);
	MUST(stat("missing", &st) == -1 && errno == ENOENT);
	MUST(close(-1) == -1 && errno == EBADF);
	MUST(close(fd) == 0);
}
