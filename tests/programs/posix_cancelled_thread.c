#include "must.h"

static _Alignas(64) char buf[16];
static int ends[2];

static void *wait_for_ever(void *unused)
{
	read(ends[0], buf, 1);
	return unused;
}

int main(void)
{
	pthread_t thread;
	void *result;
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0 && pipe(ends) == 0);
	MUST(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
	usleep(10000);
	MUST(pthread_cancel(thread) == 0);
	MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
