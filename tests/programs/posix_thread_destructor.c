#include "must.h"

static _Alignas(64) char buf[16];
static pthread_key_t key;

static void write_late(void *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

static void *end_at_once(void *unused)
{
	MUST(pthread_setspecific(key, "late") == 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	MUST(pthread_key_create(&key, write_late) == 0);
	MUST(pthread_create(&thread, NULL, end_at_once, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}
