#include "must.h"

static _Alignas(64) char buf[16];

static void *fork_and_wait(void *unused)
{
	int status;
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		int fd = open("child", O_WRONLY | O_CREAT, 0600);
		MUST(write(fd, buf, 10) == 10);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	int fd = open("parent", O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(pthread_create(&thread, NULL, fork_and_wait, NULL) == 0);
	for (int i = 0; i < 100; i++)
		MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(close(fd) == 0);
}
