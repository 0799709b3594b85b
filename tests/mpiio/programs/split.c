#include "must.h"

int main(int argc, char **argv)
{
	static char data[100];
	MPI_Status status;
	int count;
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	MUST(MPI_File_write_at_all_begin(file, rank * 100, data, 100, MPI_CHAR));
	MUST(MPI_File_write_at_all_end(file, data, &status));
	MUST(MPI_File_seek(file, rank * 50, MPI_SEEK_SET));
	MUST(MPI_File_write_all_begin(file, data, 50, MPI_CHAR));
	MUST(MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_ordered_begin(file, data, 80, MPI_CHAR));
	MUST(MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at_all_begin(file, rank * 80, data, 20, MPI_INT));
	MUST(MPI_File_read_at_all_end(file, data, &status));
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 20);
	MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
	MUST(MPI_File_read_all_begin(file, data, 60, MPI_CHAR));
	MUST(MPI_File_read_all_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MUST(MPI_File_read_ordered_begin(file, data, 80, MPI_CHAR));
	MUST(MPI_File_read_ordered_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
