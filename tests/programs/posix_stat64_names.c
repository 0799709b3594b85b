#include "must.h"

int main(void)
{
	struct stat64 st;
	int fd = open64("in", O_RDONLY);
	MUST(fd >= 0);
	MUST(stat64("in", &st) == 0);
	MUST(lstat64("in", &st) == 0);
	MUST(fstat64(fd, &st) == 0);
	MUST(fstatat64(AT_FDCWD, "in", &st, 0) == 0);
	MUST(close(fd) == 0);
}
