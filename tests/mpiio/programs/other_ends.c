/* Requests that are not posted at all, looked at, cancelled, and freed. */
#include "must.h"

static char data[100];

int main(int argc, char **argv)
{
	MPI_Request request = MPI_REQUEST_NULL;
	int flag = 0;
	start(&argc, &argv);
	MUST(MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
	MPI_Offset mine = 100 * (MPI_Offset)rank;
	CHECK(MPI_File_iread_at(file, mine, data, 100, MPI_CHAR, &request) != MPI_SUCCESS);
	MUST(MPI_File_iwrite_at(file, mine, data, 100, MPI_CHAR, &request));
	MUST(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_iwrite_at(file, mine, data, 100, MPI_CHAR, &request));
	MUST(MPI_Request_free(&request));
	MUST(MPI_File_iwrite_at(file, mine, data, 100, MPI_CHAR, &request));
	MPI_Cancel(&request);
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
