/* Reads one byte of a file by pread, so many times: ns of the wall and of the processor for each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	char byte = 'x';
	long times = argc > 2 ? atol(argv[2]) : 0;
	int file = times > 0 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (file < 0 || pwrite(file, &byte, 1, 0) != 1)
		return 2;
	double wall = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < times; i++)
		if (pread(file, &byte, 1, 0) != 1)
			return 1;
	printf("%.1f %.1f\n", (now(CLOCK_MONOTONIC) - wall) / (double)times,
	       (now(CLOCK_PROCESS_CPUTIME_ID) - processor) / (double)times);
	return 0;
}
