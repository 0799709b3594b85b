/* Reads that go beyond the end of the file move less than they ask for. */
#include "must.h"

static char data[1000];

int main(int argc, char **argv)
{
	MPI_Request request[2];
	MPI_Status statuses[2];
	int flag = 0;
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	MUST(MPI_File_set_size(file, 1500));
	MPI_Barrier(MPI_COMM_WORLD);
	MUST(MPI_File_iread_at(file, 1000, data, 1000, MPI_CHAR, &request[0]));
	MUST(MPI_Wait(&request[0], &statuses[0]));
	MUST(MPI_File_iread_at(file, 1000, data, 1000, MPI_CHAR, &request[0]));
	MUST(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
	MUST(MPI_File_iread_at(file, 1250, data, 250, MPI_INT, &request[0]));
	while (!flag)
		MUST(MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE));
	MUST(MPI_File_iread_at(file, 0, data, 1000, MPI_CHAR, &request[0]));
	MUST(MPI_File_iread_at(file, 1500, data, 1000, MPI_CHAR, &request[1]));
	MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
