/*
 * Accesses through MPI-IO by explicit offsets, own and shared pointers, views with holes; blocking, collective, nonblocking, split.
 * Two ranks or more.
 */
#include <mpi.h>
#include <string.h>

static char data[16384];
static MPI_File f;
static int rank, size;

static void bytes(void)
{
	MPI_Request request;
	for (int i = 0; i < 3; i++)
		MPI_File_write_at(f, (i * size + rank) * 1000L, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_write_at_all(f, rank * 500L, data, 25, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_seek(f, rank * 700L, MPI_SEEK_SET);
	MPI_File_read(f, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_read(f, data, 0, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_write(f, data, 33, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_iwrite(f, data, 7, MPI_BYTE, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_File_iread_at(f, 64, data, 64, MPI_BYTE, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_File_write_at_all_begin(f, rank * 128L, data, 128, MPI_BYTE);
	MPI_File_write_at_all_end(f, data, MPI_STATUS_IGNORE);
}

/* Every size-th integer is a rank's own. */
static void holes(void)
{
	MPI_Datatype vector, own;
	MPI_Type_vector(16, 1, size, MPI_INT, &vector);
	MPI_Type_create_resized(vector, 0, 16 * size * (MPI_Aint)sizeof(int), &own);
	MPI_Type_commit(&own);
	MPI_File_set_view(f, 1024 + rank * (MPI_Offset)sizeof(int), MPI_INT, own, "native", MPI_INFO_NULL);
	MPI_File_write_all(f, data, 20, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_read_at_all(f, 16, data, 8, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_read(f, data, 8, MPI_INT, MPI_STATUS_IGNORE);
	MPI_Type_free(&vector);
	MPI_Type_free(&own);
	MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	MPI_File_write_shared(f, data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_write(f, data, 3, MPI_BYTE, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_File_open(MPI_COMM_WORLD, "shared.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	bytes();
	holes();
	MPI_File_close(&f);
	MPI_Finalize();
	return 0;
}
