/* More handles than any table starts with, at once and then one after another. */
#include "must.h"

enum { AT_ONCE = 100, LATER = 100 };

int main(int argc, char **argv)
{
	static MPI_File files[AT_ONCE];
	char name[32];
	start(&argc, &argv);
	for (int i = 0; i < AT_ONCE; i++) {
		snprintf(name, sizeof name, "file.%d.%d", rank, i % 10);
		MUST(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &files[i]));
	}
	for (int i = 0; i < AT_ONCE; i++)
		MUST(MPI_File_write_at(files[i], 0, name, 3, MPI_CHAR, MPI_STATUS_IGNORE));
	for (int i = 0; i < AT_ONCE; i++)
		MUST(MPI_File_close(&files[i]));
	for (int i = 0; i < LATER; i++) {
		snprintf(name, sizeof name, "file.%d.%d", rank, i % 10);
		MUST(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
		MUST(MPI_File_write_at(file, 0, name, 3, MPI_CHAR, MPI_STATUS_IGNORE));
		MUST(MPI_File_close(&file));
	}
	MPI_Finalize();
	return 0;
}
