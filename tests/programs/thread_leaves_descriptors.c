#include "must.h"

#include <sched.h>

static char buf[100];
static int one, two;
static pthread_barrier_t step;

/* After unshare a number is one file here and another one there. */
static void *leaves(void *raw)
{
	MUST((raw ? syscall(SYS_unshare, CLONE_FILES) : unshare(CLONE_FILES)) == 0);
	MUST(dup2(two, one) == one);
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	for (int i = 0; i < 4; i++)
		MUST(write(one, buf, 20) == 20);
	MUST(close(two) == 0);
	MUST(open("three", O_RDWR | O_CREAT, 0600) == two);
	MUST(write(two, buf, 30) == 30 && pread(two, buf, 30, 0) == 30);
	return NULL;
}

static void once(void *raw)
{
	pthread_t other;
	MUST(pthread_create(&other, NULL, leaves, raw) == 0);
	pthread_barrier_wait(&step);
	for (int i = 0; i < 4; i++)
		MUST(write(one, buf, 10) == 10 && write(two, buf, 1) == 1);
	pthread_barrier_wait(&step);
	MUST(pthread_join(other, NULL) == 0);
	MUST(write(one, buf, 10) == 10);
}

int main(void)
{
	MUST(pthread_barrier_init(&step, NULL, 2) == 0);
	one = open("one", O_WRONLY | O_CREAT, 0600);
	two = open("two", O_WRONLY | O_CREAT | O_APPEND, 0600);
	MUST(one >= 0 && two >= 0);
	once(NULL);
	once(buf);
	MUST(close(one) == 0 && close(two) == 0);
}
