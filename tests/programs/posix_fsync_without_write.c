#include "must.h"

int main(void)
{
	int fd = open("in", O_RDWR);
	MUST(fd >= 0);
	MUST(fsync(fd) == 0);
	MUST(close(fd) == 0);
}
