/* The functions of MPI 4 with 64-bit counts. */
#include "must.h"

static char data[512];
static MPI_Request request;

static void once(int (*post)(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Request *))
{
	MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
	MUST(post(file, data, 64, MPI_CHAR, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	MPI_Offset at = rank * 64;
	MUST(MPI_File_write_c(file, data, 64, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_at_c(file, at, data, 64, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_shared_c(file, data, 64, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_all_c(file, data, 64, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_at_all_c(file, at, data, 64, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_ordered_c(file, data, 64, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_all_begin_c(file, data, 64, MPI_CHAR));
	MUST(MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_at_all_begin_c(file, at, data, 64, MPI_CHAR));
	MUST(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_ordered_begin_c(file, data, 64, MPI_CHAR));
	MUST(MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_iwrite_c(file, data, 64, MPI_CHAR, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_iwrite_at_c(file, at, data, 64, MPI_CHAR, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_iwrite_all_c(file, data, 64, MPI_CHAR, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_iwrite_at_all_c(file, at, data, 64, MPI_CHAR, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_iwrite_shared_c(file, data, 64, MPI_CHAR, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));

	MUST(MPI_File_seek(file, 0, MPI_SEEK_SET));
	MUST(MPI_File_set_size(file, 8192));
	MUST(MPI_File_read_c(file, data, 16, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at_c(file, at, data, 16, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_shared_c(file, data, 16, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_all_c(file, data, 16, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at_all_c(file, at, data, 16, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_ordered_c(file, data, 16, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_all_begin_c(file, data, 16, MPI_INT));
	MUST(MPI_File_read_all_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at_all_begin_c(file, at, data, 16, MPI_INT));
	MUST(MPI_File_read_at_all_end(file, data, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_ordered_begin_c(file, data, 16, MPI_INT));
	MUST(MPI_File_read_ordered_end(file, data, MPI_STATUS_IGNORE));
	once(MPI_File_iread_c);
	once(MPI_File_iread_all_c);
	once(MPI_File_iread_shared_c);
	MUST(MPI_File_iread_at_c(file, at, data, 16, MPI_INT, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_iread_at_all_c(file, at, data, 16, MPI_INT, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
