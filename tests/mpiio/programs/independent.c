#include "must.h"

enum { BLOCK = 1000, BLOCKS = 4 };

int main(int argc, char **argv)
{
	static char data[BLOCK * BLOCKS];
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	MPI_Offset mine = (MPI_Offset)rank * BLOCK * BLOCKS;
	for (int i = 0; i < BLOCKS; i++)
		MUST(MPI_File_write_at(file, mine + i * BLOCK, data, BLOCK, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(file, mine, MPI_SEEK_SET));
	MUST(MPI_File_read(file, data, BLOCK / 4, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at(file, mine, data, 2 * BLOCK / 8, MPI_DOUBLE, MPI_STATUS_IGNORE));
	MUST(MPI_File_write(file, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_sync(file));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
