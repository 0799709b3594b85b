/*
 * All ranks say that they are there; one writes a file without end, the others wait for it in a barrier.
 *
 *	waiting DIRECTORY FILE RANK
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank;
	char path[4096], block[4096] = "";
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	int fd = rank == atoi(argv[3]) ? open(argv[2], O_WRONLY | O_CREAT, 0600) : -1;
	if (fd >= 0 && write(fd, block, sizeof block) < 0)
		abort();
	snprintf(path, sizeof path, "%s/ready.%d", argv[1], rank);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	snprintf(path, sizeof path, "%s/leave", argv[1]);
	while (fd >= 0 && access(path, F_OK) != 0 && write(fd, block, sizeof block) > 0)
		usleep(10000);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
