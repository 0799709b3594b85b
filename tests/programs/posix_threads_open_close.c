#include "must.h"

enum { THREADS = 8, ROUNDS = 200 };

static void *open_close(void *unused)
{
	static _Thread_local _Alignas(64) char buf[16];
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open("in", O_RDONLY);
		MUST(fd >= 0);
		MUST(read(fd, buf, 10) == 10);
		MUST(read(fd, buf, 10) == 10);
		int copy = dup(fd);
		MUST(copy >= 0);
		MUST(close(fd) == 0);
		MUST(read(copy, buf, 10) == 10);
		MUST(close(copy) == 0);
	}
	return unused;
}

int main(void)
{
	pthread_t thread[THREADS];
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, open_close, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}
