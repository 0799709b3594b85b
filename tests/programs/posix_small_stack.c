#include "must.h"

#include <limits.h>

static void *use(void *unused)
{
	static _Alignas(64) char buf[16];
	struct stat st;
	int fd = open("in", O_RDWR);
	MUST(fd >= 0);
	MUST(read(fd, buf, 10) == 10);
	MUST(stat("in", &st) == 0);
	MUST(close(fd) == 0);
	MUST(rename("in", "renamed") == 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_attr_t small;
	MUST(pthread_attr_init(&small) == 0);
	MUST(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
	MUST(pthread_create(&thread, &small, use, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}
