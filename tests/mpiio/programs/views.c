/* Strided views: every rank has every ranks-th block. The holes count nowhere. */
#include "must.h"

enum { BLOCK = 128, BLOCKS = 8 };

static void view(MPI_Datatype strided, MPI_Info info)
{
	MUST(MPI_File_set_view(file, (MPI_Offset)rank * BLOCK, MPI_CHAR, strided, "native", info));
}

int main(int argc, char **argv)
{
	static char data[BLOCK * BLOCKS];
	MPI_Datatype strided;
	MPI_Info info;
	start(&argc, &argv);
	MPI_Info_create(&info);
	MPI_Info_set(info, "cb_buffer_size", "1048576");
	MPI_Type_vector(BLOCKS, BLOCK, BLOCK * ranks, MPI_CHAR, &strided);
	MPI_Type_commit(&strided);
	open_shared("shared", info);
	view(strided, MPI_INFO_NULL);
	MUST(MPI_File_write_all(file, data, sizeof data, MPI_CHAR, MPI_STATUS_IGNORE));
	view(strided, info);
	MUST(MPI_File_read_all(file, data, sizeof data, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
	MUST(MPI_File_read_at(file, 0, data, 1, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Type_free(&strided);
	MPI_Info_free(&info);
	MPI_Finalize();
	return 0;
}
