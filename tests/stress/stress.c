/*
 * Threads at work while others fork, exec, spawn, sort, start and end threads, and are interrupted by signals.
 *
 *	stress DIRECTORY SECONDS ACTOR...
 *
 * Two threads of each actor run until the time is over. What was written to the files *.counted in all processes is printed:
 * "writes N bytes N". All threads and children are waited for; who hangs, hangs the program.
 */
#include "stress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, MOST = 64 };

struct shared *shared;
const char *directory;
static double until;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool time_is_left(void)
{
	return now() < until;
}

void counted(ssize_t written)
{
	if (written < 0)
		return;
	__atomic_fetch_add(&shared->writes, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->bytes, written, __ATOMIC_RELAXED);
}

void path_of(char *path, const char *name, const char *kind)
{
	snprintf(path, PATH_ROOM, "%s/%s-%d-%ld.%s", directory, name, (int)getpid(), (long)gettid(), kind);
}

static const struct actor *find(const char *name)
{
	for (const struct actor *a = actors; a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	fprintf(stderr, "stress: no actor %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST];
	int n = 0;
	if (argc < 4)
		return 2;
	directory = argv[1];
	until = now() + atof(argv[2]);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 3; i < argc; i++)
		for (int k = 0; k < THREADS && n < MOST; k++)
			if (pthread_create(&thread[n], NULL, find(argv[i])->run, NULL) == 0)
				n++;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("writes %lld bytes %lld rounds %lld\n", (long long)shared->writes, (long long)shared->bytes,
	       (long long)shared->rounds);
	return 0;
}
