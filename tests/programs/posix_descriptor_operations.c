#include "must.h"

#include <sys/file.h>

int main(void)
{
	int fd = open("data", O_RDWR);
	MUST(fd >= 0);
	MUST(flock(fd, LOCK_EX) == 0);
	MUST(flock(fd, LOCK_UN) == 0);
	MUST(sync_file_range(fd, 0, 100, SYNC_FILE_RANGE_WRITE) == 0);
	MUST(syncfs(fd) == 0);
	MUST(readahead(fd, 0, 4096) == 0);
	MUST(fchmod(fd, 0600) == 0);
	MUST(fchown(fd, -1, -1) == 0);
	MUST(futimens(fd, NULL) == 0);
	MUST(close(fd) == 0);
}
