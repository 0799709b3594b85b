/* Like EPOCH's output: each rank writes its particles' records, 400 bytes each, in turn with the other ranks'.
 * With "collective", the same file by one collective call with a view: the advice. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD = 400, RECORDS = 20000 };

int main(int argc, char **argv)
{
	MPI_File file;
	MPI_Datatype mine;
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	char *data = malloc((size_t)RECORD * RECORDS);
	memset(data, 'a' + rank, (size_t)RECORD * RECORDS);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	if (argc > 2 && !strcmp(argv[2], "collective")) {
		MPI_Type_vector(RECORDS, RECORD, RECORD * ranks, MPI_CHAR, &mine);
		MPI_Type_commit(&mine);
		MPI_File_set_view(file, (MPI_Offset)RECORD * rank, MPI_CHAR, mine, "native", MPI_INFO_NULL);
		MPI_File_write_all(file, data, RECORD * RECORDS, MPI_CHAR, MPI_STATUS_IGNORE);
		MPI_Type_free(&mine);
	} else {
		for (MPI_Offset i = 0; i < RECORDS; i++)
			MPI_File_write_at(file, (i * ranks + rank) * RECORD, data + i * RECORD, RECORD, MPI_CHAR,
					  MPI_STATUS_IGNORE);
	}
	MPI_File_close(&file);
	free(data);
	MPI_Finalize();
	return 0;
}
