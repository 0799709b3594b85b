#include "must.h"

#include <dirent.h>

int main(void)
{
	DIR *dir = opendir("sub");
	int entries = 0;
	MUST(dir != NULL);
	while (readdir(dir))
		entries++;
	MUST(entries == 3);
	int fd = openat(dirfd(dir), "below", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
	MUST(closedir(dir) == 0);
}
