/* One file under four names, opened again and again: one record. */
#include <unistd.h>

#include "must.h"

int main(int argc, char **argv)
{
	char directory[1024], path[1100];
	start(&argc, &argv);
	CHECK(getcwd(directory, sizeof directory) != NULL);
	snprintf(path, sizeof path, "%s//.//shared", directory);
	const char *const names[] = {"shared", "./shared", path, argc > 1 ? argv[1] : "shared"};
	for (int i = 0; i < 4; i++) {
		open_shared(names[i], MPI_INFO_NULL);
		MUST(MPI_File_write_at(file, rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
		MUST(MPI_File_close(&file));
	}
	MPI_Finalize();
	return 0;
}
