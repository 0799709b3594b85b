/* Asks by weak references for what the MPI has that it is linked with. */
#include <mpi.h>
#include <stdio.h>

#pragma weak MPI_Init
#pragma weak MPI_Initialized
#pragma weak MPI_File_open
#pragma weak MPI_Finalize

int main(int argc, char **argv)
{
	int begun = 0;
	char data[300] = "";
	MPI_File file;
	if (!MPI_Init || !MPI_Initialized || !MPI_File_open || !MPI_Finalize)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Initialized(&begun);
	MPI_File_open(MPI_COMM_SELF, "weak", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	printf("%d\n", begun);
	return MPI_Finalize();
}
