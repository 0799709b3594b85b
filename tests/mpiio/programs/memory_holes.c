/* A data type with holes in memory, freed while its handle's number may be used again: what counts is its size. */
#include "must.h"

int main(int argc, char **argv)
{
	static char data[4096];
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	for (int i = 1; i <= 3; i++) {
		MPI_Datatype type;
		MPI_Type_vector(10, i, 20, MPI_CHAR, &type);
		MPI_Type_commit(&type);
		MUST(MPI_File_write_at(file, rank * 100, data, 2, type, MPI_STATUS_IGNORE));
		MPI_Type_free(&type);
	}
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
