#include "must.h"

enum { PARTS = 500, SIZE = 1000 };

static int fd;

static void *read_half(void *half)
{
	static _Thread_local _Alignas(64) char buf[SIZE];
	off_t start = (intptr_t)half * PARTS * SIZE;
	for (int i = 0; i < PARTS; i++)
		MUST(pread(fd, buf, SIZE, start + i * SIZE) == SIZE);
	return NULL;
}

int main(void)
{
	pthread_t other;
	MUST((fd = open("in", O_RDONLY)) >= 0);
	MUST(pthread_create(&other, NULL, read_half, (void *)1) == 0);
	read_half((void *)0);
	MUST(pthread_join(other, NULL) == 0);
	MUST(close(fd) == 0);
}
