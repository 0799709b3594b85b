#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		MUST(write(fd, buf, 16) == 16);
		_exit(0);
	}
	int status;
	MUST(waitpid(child, &status, 0) == child && status == 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
