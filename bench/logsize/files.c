/*
 * files DIRECTORY SHARED OWN: every rank opens, writes and closes SHARED files that all ranks have, at places of its own, and
 * OWN files that no other rank has.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 4096, WRITES = 1 };

static void write_file(const char *path, int place)
{
	static char data[SIZE];
	int fd = open(path, O_CREAT | O_RDWR, 0644);
	for (int n = 0; n < WRITES; n++)
		if (pwrite(fd, data, sizeof data, (off_t)(place * WRITES + n) * SIZE) != sizeof data)
			exit(1);
	close(fd);
}

int main(int argc, char **argv)
{
	char path[4096];
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 4)
		return 2;
	for (int n = 0; n < atoi(argv[2]); n++) {
		snprintf(path, sizeof path, "%s/shared.%04d", argv[1], n);
		write_file(path, rank);
	}
	for (int n = 0; n < atoi(argv[3]); n++) {
		snprintf(path, sizeof path, "%s/rank%04d.%04d", argv[1], rank, n);
		write_file(path, 0);
	}
	return MPI_Finalize() != MPI_SUCCESS;
}
