#include "must.h"

enum { ROUNDS = 20000 };

static int stop;
static _Alignas(64) char buf[1];

static void *look(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int fd = open("f", O_RDONLY);
		MUST(fd < 0 || close(fd) == 0);
	}
	return unused;
}

static void pass(int turns)
{
	for (volatile int k = 0; k < turns; k++)
		;
}

int main(void)
{
	pthread_t thread;
	int top = open(".", O_RDONLY | O_DIRECTORY);
	MUST(top >= 0 && mkdir("d1", 0700) == 0 && mkdir("d2", 0700) == 0);
	int one = open("d1", O_RDONLY | O_DIRECTORY), two = open("d2", O_RDONLY | O_DIRECTORY);
	MUST(one >= 0 && two >= 0);
	MUST(pthread_create(&thread, NULL, look, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		MUST(fchdir(one) == 0);
		pass(i % 700);
		MUST(fchdir(two) == 0);
		pass(3000);
		int fd = open("f", O_WRONLY | O_CREAT, 0600);
		MUST(fd >= 0 && pwrite(fd, buf, 1, 0) == 1 && close(fd) == 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	MUST(pthread_join(thread, NULL) == 0);
}
