/* Accesses in a pattern: trace PATTERN CALLS. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static char data[2 * BLOCK];
static int file;

static void small_in_order(long n)
{
	pread(file, data, 64, 64 * n);
}

static void blocks_written(long n)
{
	(void)n;
	write(file, data, BLOCK);
}

static void stride(long n)
{
	pread(file, data, 512, 8192 * n);
}

/* Anywhere in 1 GiB. */
static void random_blocks(long n)
{
	(void)n;
	pread(file, data, BLOCK, random() % (1 << 18) * BLOCK);
}

/* Any length, anywhere in 1 TiB, read or written. */
static void random_bytes(long n)
{
	long at = (random() << 20 ^ random()) % (1L << 40);
	if (random() % 2)
		pread(file, data, 1 + (size_t)random() % BLOCK, at);
	else
		pwrite(file, data, 1, n * 3 % BLOCK);
}

static const struct {
	const char *name;
	void (*access)(long n);
} patterns[] = {{"small-in-order", small_in_order},
		{"blocks-written", blocks_written},
		{"stride", stride},
		{"random-blocks", random_blocks},
		{"random-bytes", random_bytes}};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* trace PATTERN CALLS: prints the nanoseconds that a call takes. */
int main(int argc, char **argv)
{
	file = open("data", O_RDWR | O_CREAT, 0600);
	double from = now();
	for (size_t p = 0; argc == 3 && p < sizeof patterns / sizeof *patterns; p++)
		for (long n = 0; !strcmp(patterns[p].name, argv[1]) && n < atol(argv[2]); n++)
			patterns[p].access(n);
	printf("%.1f\n", argc == 3 ? (now() - from) / atof(argv[2]) : 0);
	return file < 0;
}
