#include "must.h"

int main(void)
{
	int fd = open("data", O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(ftruncate(fd, 1000) == 0);
	MUST(ftruncate64(fd, 500) == 0);
	MUST(truncate("data", 2000) == 0);
	MUST(truncate64("data", 100) == 0);
	MUST(truncate("missing", 100) == -1);
	MUST(fallocate(fd, 0, 0, 4096) == 0);
	MUST(posix_fallocate(fd, 0, 8192) == 0);
	MUST(close(fd) == 0);
}
