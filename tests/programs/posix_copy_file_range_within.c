#include "must.h"

int main(void)
{
	off_t from = 0, to = 50;
	int fd = open("data", O_RDWR);
	MUST(fd >= 0);
	MUST(copy_file_range(fd, &from, fd, &to, 10, 0) == 10);
	MUST(copy_file_range(fd, &from, fd, &to, 10, 0) == 10);
	MUST(close(fd) == 0);
}
