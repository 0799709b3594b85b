#include "must.h"

int main(int argc, char **argv)
{
	MPI_Offset size;
	start(&argc, &argv);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
	CHECK(MPI_File_open(MPI_COMM_WORLD, "missing/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
	CHECK(MPI_File_delete("missing/file", MPI_INFO_NULL) != MPI_SUCCESS);
	open_shared("shared", MPI_INFO_NULL);
	MUST(MPI_File_set_size(file, 1000));
	MUST(MPI_File_preallocate(file, 2000));
	MUST(MPI_File_get_size(file, &size));
	CHECK(size == 2000);
	MUST(MPI_File_seek(file, 10, MPI_SEEK_SET));
	MUST(MPI_File_seek(file, 10, MPI_SEEK_CUR));
	MUST(MPI_File_seek(file, 0, MPI_SEEK_END));
	MUST(MPI_File_seek_shared(file, 7, MPI_SEEK_SET));
	MUST(MPI_File_sync(file));
	MUST(MPI_File_sync(file));
	MUST(MPI_File_close(&file));
	MUST(MPI_File_open(MPI_COMM_SELF, "shared", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
	MUST(MPI_File_close(&file));
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		MUST(MPI_File_delete("shared", MPI_INFO_NULL));
	MPI_Finalize();
	return 0;
}
