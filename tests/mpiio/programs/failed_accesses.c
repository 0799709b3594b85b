/* What fails is not counted. */
#include "must.h"

int main(int argc, char **argv)
{
	char data[10];
	start(&argc, &argv);
	MUST(MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
	MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
	CHECK(MPI_File_read_at(file, 0, data, 10, MPI_CHAR, MPI_STATUS_IGNORE) != MPI_SUCCESS);
	MUST(MPI_File_write_at(file, rank * 10, data, 10, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
