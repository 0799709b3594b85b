#include "must.h"

enum { THREADS = 100 };

static void *use_own_file(void *number)
{
	static _Thread_local _Alignas(64) char buf[16];
	char name[16];
	snprintf(name, sizeof name, "f%d", (int)(intptr_t)number % 2);
	int fd = open(name, O_RDONLY);
	MUST(fd >= 0);
	MUST(pread(fd, buf, 10, 0) == 10);
	MUST(close(fd) == 0);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		MUST(pthread_create(&thread, NULL, use_own_file, (void *)(intptr_t)i) == 0);
		MUST(pthread_join(thread, NULL) == 0);
	}
}
