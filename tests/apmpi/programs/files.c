/* MPI-IO and messages: what collective I/O communicates inside is no communication of the program's, nor is waiting for files. */
#include <mpi.h>

static char data[1 << 16];

int main(int argc, char **argv)
{
	int rank, flag;
	MPI_File file;
	MPI_Request r;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_File_open(MPI_COMM_WORLD, "files.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	for (int i = 0; i < 8; i++)
		MPI_File_write_at_all(file, (MPI_Offset)rank * 65536 + i, data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_iwrite_at(file, (MPI_Offset)rank * 65536, data, sizeof data, MPI_BYTE, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_File_iwrite_at(file, (MPI_Offset)rank * 65536, data, sizeof data, MPI_BYTE, &r);
	do
		MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
	while (!flag);
	MPI_File_close(&file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
