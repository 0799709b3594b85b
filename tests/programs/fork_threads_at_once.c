#include "must.h"

enum { CHILDREN = 40, THREADS = 8 };

static _Alignas(64) char buf[16];
static pthread_barrier_t all;

static void *work(void *argument)
{
	char name[8];
	snprintf(name, sizeof name, "t%d", (int)(intptr_t)argument);
	pthread_barrier_wait(&all);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	for (int i = 0; i < 10; i++)
		MUST(pwrite(fd, buf, 10, 0) == 10);
	MUST(close(fd) == 0);
	return NULL;
}

static void child(void)
{
	pthread_t thread[THREADS];
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	_exit(0);
}

int main(void)
{
	MUST(pthread_barrier_init(&all, NULL, THREADS) == 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		MUST(pid >= 0);
		if (pid == 0)
			child();
		int status;
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
	}
}
