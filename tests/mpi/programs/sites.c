/* Files that ranks open at the same place, at two places, and through the MPI. What is behind LINE: names a line. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#define NAMED(name) __attribute__((noinline)) static int name(const char *path)

NAMED(creator)
{
	return close(open(path, O_CREAT | O_RDWR, 0600)); /* LINE: creator */
}

NAMED(reader)
{
	return close(open(path, O_RDWR)); /* LINE: reader */
}

int main(int argc, char **argv)
{
	char name[16];
	int rank;
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sprintf(name, "own%d", rank);
	creator(name);
	if (rank == 0)
		creator("shared");
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank)
		reader("shared");
	int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
	MPI_File_open(MPI_COMM_WORLD, "together", mode, MPI_INFO_NULL, &file); /* LINE: mpi */
	MPI_File_close(&file);
	return MPI_Finalize();
}
