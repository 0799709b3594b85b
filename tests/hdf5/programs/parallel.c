/* All ranks write rows and columns of one dataset, independently and together; the last one writes nothing once. */
#include <hdf5.h>
#include <mpi.h>
#include <stdlib.h>

#define OK(call)                                      \
	do {                                          \
		if ((call) < 0)                       \
			MPI_Abort(MPI_COMM_WORLD, 1); \
	} while (0)

static float data[64 * 64];

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), is_collective = H5Pcreate(H5P_DATASET_XFER);
	OK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
	OK(H5Pset_dxpl_mpio(is_collective, H5FD_MPIO_COLLECTIVE));
	hid_t f = H5Fcreate("parallel.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
	const char *names[2] = {"apart", "together"};
	for (int i = 0; i < 2; i++) {
		hid_t list = i ? is_collective : H5P_DEFAULT;
		hsize_t size[2] = {64, 64}, part[2] = {64 / ranks, 64}, start[2] = {rank * part[0], 0};
		hid_t space = H5Screate_simple(2, size, NULL), memory = H5Screate_simple(2, part, NULL);
		hid_t d = H5Dcreate2(f, names[i], H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		OK(d);
		OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL));
		OK(H5Dwrite(d, H5T_NATIVE_FLOAT, memory, space, list, data));
		OK(H5Dread(d, H5T_NATIVE_FLOAT, memory, space, list, data));
		if (rank == ranks - 1) {
			OK(H5Sselect_none(space));
			OK(H5Sselect_none(memory));
		}
		OK(H5Dwrite(d, H5T_NATIVE_FLOAT, memory, space, list, data));
		H5Dclose(d);
		H5Sclose(space);
		H5Sclose(memory);
	}
	OK(H5Fflush(f, H5F_SCOPE_GLOBAL));
	H5Fclose(f);
	H5Pclose(access);
	H5Pclose(is_collective);
	MPI_Finalize();
	return 0;
}
