/* Three times one gibibyte, asked of an empty file: nothing is moved, and the sizes do not fit in 32 bits. */
#include <sys/mman.h>

#include "must.h"

int main(int argc, char **argv)
{
	MPI_Datatype block;
	start(&argc, &argv);
	char *room = mmap(NULL, 3L << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MPI_Type_contiguous(1 << 30, MPI_CHAR, &block);
	MPI_Type_commit(&block);
	open_shared("shared", MPI_INFO_NULL);
	MUST(MPI_File_read_at(file, 0, room, 1, block, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at(file, 0, room, 3, block, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at(file, 3L << 30, room, 3, block, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Type_free(&block);
	MPI_Finalize();
	return 0;
}
