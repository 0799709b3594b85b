/* Each rank reads and writes in order, in a file that all share and in one of its own, and closes neither. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { SHARED = 4321, OWN = 3333, SIZE = 100 };

static int done(int rank)
{
	char bytes[SIZE] = {0}, name[32];
	snprintf(name, sizeof name, "own.%d", rank);
	int shared = open("shared", O_RDWR | O_CREAT, 0600), own = open(name, O_RDWR | O_CREAT, 0600);
	for (long n = 0; n < SHARED; n++)
		if (pwrite(shared, bytes, SIZE, (2 * n + rank) * SIZE) != SIZE)
			return 1;
	for (int n = 0; n < OWN + rank; n++)
		if (write(own, bytes, SIZE) != SIZE)
			return 1;
	if (lseek(own, 0, SEEK_SET) != 0)
		return 1;
	for (int n = 0; n < OWN + rank; n++)
		if (read(own, bytes, SIZE) != SIZE)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	int failed = done(rank);
	MPI_Finalize();
	return failed;
}
