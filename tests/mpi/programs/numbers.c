/* From MPI_Init to the end a thread looks which files are open: each rank prints the first that is iolens's, or "none". */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char seen[512] = "none";
static volatile int stop;
static volatile long turns;

static void look(int fd)
{
	char link[64], to[512];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, to, sizeof to - 1);
	to[n > 0 ? n : 0] = '\0';
	if (strstr(to, "iolens") || strstr(to, ".darshan") || strstr(to, "boot_id"))
		strcpy(seen, to);
}

static void *watch(void *unused)
{
	for (; !stop; turns++)
		for (int fd = 3; fd < 48 && strcmp(seen, "none") == 0; fd++)
			look(fd);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pthread_create(&thread, NULL, watch, NULL);
	while (turns < 10)
		usleep(100);
	MPI_Init(&argc, &argv);
	char byte;
	FILE *file = fopen("/etc/hosts", "r");
	if (!file || fread(&byte, 1, 1, file) != 1)
		return 9;
	fclose(file);
	MPI_Finalize();
	stop = 1;
	pthread_join(thread, NULL);
	printf("%s\n", seen);
	return 0;
}
