#include "must.h"

static _Alignas(64) char buf[32];

static void child_sets(int fd, int flags)
{
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0)
		_exit(fcntl(fd, F_SETFL, flags) != 0);
	int status;
	MUST(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0);
	MUST(pwrite(fd, buf, 20, 0) == 20);
	child_sets(fd, O_APPEND);
	MUST(pwrite(fd, buf, 10, 0) == 10);
	child_sets(fd, 0);
	MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(close(fd) == 0);
}
