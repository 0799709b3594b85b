/* Accesses at the edges of the size classes, reads and writes in turns. */
#include "must.h"

int main(int argc, char **argv)
{
	static const int sizes[] = {0, 1, 100, 101, 1024, 1025, 10240, 10241, 102400, 102401, 1048576, 1048577};
	char *data = calloc(1, 2 << 20);
	char name[16];
	start(&argc, &argv);
	snprintf(name, sizeof name, "own.%d", rank);
	MUST(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		MUST(MPI_File_write_at(file, 0, data, sizes[i], MPI_CHAR, MPI_STATUS_IGNORE));
		MUST(MPI_File_read_at(file, 0, data, sizes[i], MPI_CHAR, MPI_STATUS_IGNORE));
	}
	for (int i = 0; i < 5; i++)
		MUST(MPI_File_read_at(file, 0, data, 1025, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
