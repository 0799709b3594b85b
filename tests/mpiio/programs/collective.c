#include "must.h"

enum { BLOCK = 64 * 1024, BLOCKS = 3 };

int main(int argc, char **argv)
{
	char *data = calloc(BLOCK, 1);
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	for (int i = 0; i < BLOCKS; i++)
		MUST(MPI_File_write_at_all(file, (MPI_Offset)(i * ranks + rank) * BLOCK, data, BLOCK, MPI_CHAR,
					   MPI_STATUS_IGNORE));
	for (int i = 0; i < BLOCKS; i++)
		MUST(MPI_File_read_at_all(file, (MPI_Offset)(i * ranks + rank) * BLOCK, data, BLOCK, MPI_CHAR,
					  MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(file, (MPI_Offset)rank * 512, MPI_SEEK_SET));
	MUST(MPI_File_write_all(file, data, 512, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(file, (MPI_Offset)rank * 512, MPI_SEEK_SET));
	MUST(MPI_File_read_all(file, data, 64, MPI_DOUBLE, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
