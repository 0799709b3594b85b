/*
 * Ranks, or one process without MPI (-DALONE): each writes and reads N blocks, says so, and stays until its input ends. One that
 * is named goes on without end.
 *
 *	steady DIRECTORY BLOCKS [endless]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef ALONE
#include <mpi.h>
#endif

enum { WRITTEN = 4096, READ = 512 };

static void blocks(int fd, long n)
{
	static char block[WRITTEN];
	for (long k = 0; k < n; k++)
		if (pwrite(fd, block, sizeof block, k % 16 * WRITTEN) != WRITTEN || pread(fd, block, READ, 0) != READ)
			abort();
}

static void stay(const char *directory)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/leave", directory);
	while (access(path, F_OK) != 0)
		usleep(20000);
}

int main(int argc, char **argv)
{
	int rank = 0;
	char path[4096];
#ifndef ALONE
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
	snprintf(path, sizeof path, "%s/own.%d", argv[1], rank);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	blocks(fd, atol(argv[2]));
	snprintf(path, sizeof path, "%s/ready.%d", argv[1], rank);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	if (argc > 3)
		for (;;)
			blocks(fd, 1000);
	stay(argv[1]);
#ifndef ALONE
	MPI_Finalize();
#endif
	return 0;
}
