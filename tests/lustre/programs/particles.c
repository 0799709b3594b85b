/* As HACC-IO with a file per process: every rank writes 8 MiB to one of its own, in pieces of 1 MiB. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE = 1 << 20, PIECES = 8 };

static char data[PIECE];

int main(int argc, char **argv)
{
	char name[64];
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof name, "particles.%d", rank);
	int fd = argc == 2 && chdir(argv[1]) == 0 ? open(name, O_WRONLY | O_CREAT, 0644) : -1;
	for (int n = 0; n < PIECES; n++)
		if (write(fd, data, PIECE) != PIECE)
			MPI_Abort(MPI_COMM_WORLD, 1);
	close(fd);
	MPI_Finalize();
	return 0;
}
