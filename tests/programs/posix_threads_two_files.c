#include "must.h"

enum { PARTS = 1000, SIZE = 64 };

static void *fill(void *name)
{
	static _Thread_local _Alignas(64) char buf[SIZE];
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0);
	for (int i = 0; i < PARTS; i++)
		MUST(write(fd, buf, SIZE) == SIZE);
	MUST(close(fd) == 0);
	return NULL;
}

int main(void)
{
	pthread_t other;
	MUST(pthread_create(&other, NULL, fill, "b") == 0);
	fill("a");
	MUST(pthread_join(other, NULL) == 0);
}
