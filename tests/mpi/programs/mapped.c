/* Each rank maps a file of its own twice, under an MPI that may hook mmap, and flushes its standard output. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mpi.h>

int main(int argc, char **argv)
{
	char name[32];
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof name, "mapped.%d", rank);
	int fd = open(name, O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 8192) != 0)
		return 3;
	for (int i = 0; i < 2; i++) {
		void *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED || munmap(at, 8192) != 0)
			return 4;
	}
	close(fd);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
