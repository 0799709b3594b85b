/* Requests: posted, waited for together, alone, some, cancelled, wrongly; buffered ones. */
#include "checked.h"

int main(int argc, char **argv)
{
	int rank, ranks, file, n, v, request[8], code[8], data[8][16] = {{0}};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	OK(ncmpi_create(MPI_COMM_WORLD, "requests.nc", NC_CLOBBER, MPI_INFO_NULL, &file));
	OK(ncmpi_def_dim(file, "n", 128 * ranks, &n));
	OK(ncmpi_def_var(file, "v", NC_INT, 1, &n, &v));
	OK(ncmpi_enddef(file));
	for (int i = 0; i < 8; i++) {
		MPI_Offset start = 128 * rank + 16 * i, count = 16;
		OK(ncmpi_iput_vara_int(file, v, &start, &count, data[i], &request[i]));
	}
	OK(ncmpi_wait_all(file, 8, request, code));
	OK(ncmpi_buffer_attach(file, sizeof data));
	for (int i = 0; i < 8; i++) {
		MPI_Offset start = 128 * rank + 16 * i;
		OK(ncmpi_bput_var1_int(file, v, &start, data[i], &request[i]));
	}
	OK(ncmpi_wait_all(file, 8, request, code));
	OK(ncmpi_buffer_detach(file));
	OK(ncmpi_begin_indep_data(file));
	for (int i = 0; i < 3; i++) {
		MPI_Offset start = 128 * rank + 16 * i, count = 8, stride = 2;
		OK(ncmpi_iget_vars_int(file, v, &start, &count, &stride, data[i], &request[i]));
		OK(ncmpi_wait(file, 1, &request[i], code));
	}
	FAILS(ncmpi_wait_all(file, 1, request, code)); /* not together now */
	OK(ncmpi_end_indep_data(file));
	MPI_Offset start = 128 * rank, count = 4;
	OK(ncmpi_iget_vara_int(file, v, &start, &count, data[0], &request[0]));
	OK(ncmpi_cancel(file, 1, request, code));
	OK(ncmpi_close(file));
	MPI_Finalize();
	return 0;
}
