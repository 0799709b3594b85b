#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0);
	int copies[] = {dup2(fd, 100), dup3(fd, 101, O_CLOEXEC), fcntl(fd, F_DUPFD, 102),
			fcntl(fd, F_DUPFD_CLOEXEC, 103)};
	MUST(read(fd, buf, 10) == 10);
	for (int i = 0; i < 4; i++) {
		MUST(copies[i] == 100 + i);
		MUST(read(copies[i], buf, 10) == 10);
		MUST(close(copies[i]) == 0);
	}
	MUST(fcntl(fd, F_GETFD) == 0);
	MUST(fcntl(fd, F_GETFL) >= 0);
	MUST(close(fd) == 0);
}
