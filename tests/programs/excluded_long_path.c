#include "must.h"

#include <string.h>
#include <sys/stat.h>

enum { DEPTH = 24, LENGTH = 200 };

static char name[LENGTH + 1];
static char buf[100];

int main(void)
{
	memset(name, 'd', LENGTH);
	for (int i = 0; i < DEPTH; i++)
		MUST(mkdir(name, 0700) == 0 && chdir(name) == 0);
	int fd = open("out", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 100) == 100);
	MUST(write(fd, buf, 50) == 50);
	MUST(pread(fd, buf, 30, 0) == 30);
	MUST(close(fd) == 0);
	MUST(unlink("out") == 0);
	for (int i = 0; i < DEPTH; i++)
		MUST(chdir("..") == 0 && rmdir(name) == 0);
	return 0;
}
