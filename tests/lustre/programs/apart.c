/* apart FIRST: the ranks from FIRST on write a file each, in the current directory. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char name[32];
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof name, "own%d", rank);
	if (argc < 2)
		return 2;
	if (rank >= atoi(argv[1])) {
		int fd = open(name, O_WRONLY | O_CREAT, 0644);
		if (fd < 0 || write(fd, name, 4) != 4 || close(fd))
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Finalize();
	return 0;
}
