#include "must.h"

enum { THREADS = 100, ROUNDS = 20 };

static pthread_barrier_t is_collective;

static void *use(void *unused)
{
	static _Thread_local _Alignas(64) char buf[16];
	pthread_barrier_wait(&is_collective);
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open("in", O_RDONLY);
		MUST(fd >= 0);
		MUST(pread(fd, buf, 10, 0) == 10);
		MUST(close(fd) == 0);
	}
	pthread_barrier_wait(&is_collective);
	return unused;
}

int main(void)
{
	pthread_t thread[THREADS];
	pthread_barrier_init(&is_collective, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, use, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}
