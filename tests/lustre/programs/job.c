/*
 * Every rank writes to a file of its own and to one that all share, through MPI-IO; the last rank writes far behind, when all
 * others have closed theirs.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(int good)
{
	if (!good)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_own(int rank)
{
	char name[32];
	snprintf(name, sizeof name, "own%d", rank);
	int fd = open(name, O_WRONLY | O_CREAT, 0644);
	must(fd >= 0 && write(fd, name, 4) == 4 && close(fd) == 0);
}

static void write_shared(int rank)
{
	MPI_File f;
	int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
	must(MPI_File_open(MPI_COMM_WORLD, "shared", mode, MPI_INFO_NULL, &f) == MPI_SUCCESS);
	must(MPI_File_write_at(f, rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	MPI_File_close(&f);
}

static void write_far(void)
{
	int fd = open("shared", O_WRONLY);
	must(fd >= 0 && pwrite(fd, "x", 1, 2 << 20) == 1 && close(fd) == 0);
}

int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	must(argc == 2 && chdir(argv[1]) == 0);
	write_own(rank);
	write_shared(rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1)
		write_far();
	MPI_Finalize();
	return 0;
}
