/* Every rank writes and reads its part of one file, and a file of its own. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int rank, ranks;
	char block[4096], name[32];
	MPI_File shared;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	memset(block, 'a' + rank, sizeof block);
	MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &shared);
	for (int i = 0; i < 4; i++)
		MPI_File_write_at(shared, (MPI_Offset)(i * ranks + rank) * 4096, block, 4096, MPI_BYTE,
				  MPI_STATUS_IGNORE);
	MPI_File_write_at_all(shared, (MPI_Offset)(4 * ranks + rank) * 4096, block, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_read_at_all(shared, (MPI_Offset)rank * 4096, block, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&shared);
	snprintf(name, sizeof name, "own.%d", rank);
	FILE *own = fopen(name, "w");
	fputs("of one rank\n", own);
	fclose(own);
	MPI_Finalize();
	return 0;
}
