/* As language bindings do: the functions under their second names. */
#include "must.h"

int main(int argc, char **argv)
{
	static char data[100];
	MPI_Request request;
	start(&argc, &argv);
	MUST(PMPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
	MUST(PMPI_File_write_at(file, rank * 100, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(PMPI_File_write_at_all(file, rank * 100, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(PMPI_File_iread_at(file, rank * 100, data, 100, MPI_CHAR, &request));
	MUST(PMPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(PMPI_File_sync(file));
	MUST(PMPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
