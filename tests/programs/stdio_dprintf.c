#include "must.h"

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(dprintf(fd, "%s\n", "hello") == 6);
	MUST(close(fd) == 0);
}
