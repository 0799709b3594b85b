/* threads THREADS CALLS: each thread writes a file of its own and reads it by as many calls of 64 bytes. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long calls;

static void *work(void *number)
{
	char name[32], block[4096] = {0};
	snprintf(name, sizeof name, "thread.%ld", (long)number);
	int file = open(name, O_RDWR | O_CREAT, 0600);
	if (file < 0 || write(file, block, sizeof block) != sizeof block)
		exit(1);
	for (long n = 0; n < calls; n++)
		if (pread(file, block, 64, n % 64 * 64) != 64)
			exit(1);
	close(file);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc == 3 ? atol(argv[1]) : 0;
	pthread_t *thread = calloc((size_t)threads + 1, sizeof *thread);
	calls = threads ? atol(argv[2]) : 0;
	for (long n = 0; n < threads; n++)
		if (pthread_create(&thread[n], NULL, work, (void *)n))
			return 1;
	for (long n = 0; n < threads; n++)
		pthread_join(thread[n], NULL);
	free(thread);
	return threads ? 0 : 2;
}
