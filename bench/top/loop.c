/*
 * What is looked at: reads and writes of 512 bytes, so fast as they go. Prints seconds and operations.
 *
 *	loop FILE PAIRS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) void pairs(int fd, long n)
{
	static char block[512];
	for (long k = 0; k < n; k++)
		if (pwrite(fd, block, sizeof block, 0) != sizeof block ||
		    pread(fd, block, sizeof block, 0) != sizeof block)
			abort();
}

int main(int argc, char **argv)
{
	long n = atol(argv[2]);
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	pairs(fd, n);
	printf("%.6f %.6f %ld\n", now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu, 2 * n);
	return 0;
}
