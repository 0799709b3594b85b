#include "must.h"

int main(int argc, char **argv)
{
	static char data[500];
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	MUST(MPI_File_write_shared(file, data, 200, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_shared(file, data, 200, MPI_CHAR, MPI_STATUS_IGNORE));
	MPI_Barrier(MPI_COMM_WORLD);
	MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MUST(MPI_File_read_shared(file, data, 300, MPI_CHAR, MPI_STATUS_IGNORE));
	MPI_Barrier(MPI_COMM_WORLD);
	MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MUST(MPI_File_write_ordered(file, data, 400, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MUST(MPI_File_read_ordered(file, data, 400, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
