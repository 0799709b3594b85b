/* What is done to whole files: failures, other directories, numbers that are used again, files that are never closed. */
#include <stdlib.h>
#include <unistd.h>

#include "checked.h"

static int data[64];

static int created(const char *name)
{
	int file, n, v;
	OK(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER, MPI_INFO_NULL, &file));
	OK(ncmpi_def_dim(file, "n", 64, &n));
	OK(ncmpi_def_var(file, "v", NC_INT, 1, &n, &v));
	return file;
}

int main(int argc, char **argv)
{
	int file, other, again;
	MPI_Init(&argc, &argv);
	file = created("files.nc");
	OK(ncmpi_enddef(file));
	OK(ncmpi_put_var_int_all(file, 0, data));
	OK(ncmpi_sync(file));
	OK(ncmpi_redef(file));
	OK(ncmpi_put_att_text(file, NC_GLOBAL, "title", 5, "files"));
	OK(ncmpi__enddef(file, 0, 4096, 0, 4096));
	OK(chdir(".."));
	OK(ncmpi_sync(file));
	OK(ncmpi_close(file));
	FAILS(ncmpi_close(file));
	FAILS(ncmpi_sync(file));
	FAILS(ncmpi_open(MPI_COMM_WORLD, "work/missing.nc", NC_NOWRITE, MPI_INFO_NULL, &other));
	OK(ncmpi_open(MPI_COMM_WORLD, "work/files.nc", NC_NOWRITE, MPI_INFO_NULL, &again));
	FAILS(ncmpi_redef(again));
	OK(ncmpi_get_var_int_all(again, 0, data));
	OK(ncmpi_open(MPI_COMM_SELF, "work/files.nc", NC_NOWRITE, MPI_INFO_NULL, &other));
	OK(ncmpi_close(again));
	OK(ncmpi_close(other));
	ncmpi_abort(created("work/aborted.nc")); /* what was never written is removed: by the first rank */
	file = created("work/open.nc");
	OK(ncmpi_enddef(file));
	OK(ncmpi_put_var_int_all(file, 0, data));
	OK(ncmpi_sync(file));
	MPI_Finalize();
	return 0;
}
