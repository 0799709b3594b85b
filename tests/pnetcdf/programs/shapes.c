/* Variables with and without records, without dimensions and with seven of them; two files at once; values out of range. */
#include <string.h>

#include "checked.h"

static double data[4096];

static int defined(int file, const char *name, nc_type type, int dimensions, const int *of)
{
	int number;
	OK(ncmpi_def_var(file, name, type, dimensions, of, &number));
	return number;
}

static void shapes(int rank, int ranks)
{
	int file, t, y, x, two, deep[7], of[3];
	OK(ncmpi_create(MPI_COMM_WORLD, "shapes.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
	OK(ncmpi_def_dim(file, "t", NC_UNLIMITED, &t));
	OK(ncmpi_def_dim(file, "y", 4 * ranks, &y));
	OK(ncmpi_def_dim(file, "x", 8, &x));
	OK(ncmpi_def_dim(file, "two", 2, &two));
	for (int i = 0; i < 7; i++)
		deep[i] = i == 6 ? x : two;
	of[0] = t, of[1] = y, of[2] = x;
	int fixed = defined(file, "fixed", NC_INT, 2, of + 1), record = defined(file, "record", NC_SHORT, 3, of);
	int scalar = defined(file, "scalar", NC_DOUBLE, 0, NULL), seven = defined(file, "seven", NC_FLOAT, 7, deep);
	OK(ncmpi_enddef(file));
	OK(ncmpi_put_var_double_all(file, fixed, data));
	OK(ncmpi_put_var_double_all(file, scalar, data));
	OK(ncmpi_put_vara_double_all(file, scalar, NULL, NULL, data));
	MPI_Offset start[7] = {0}, count[7] = {2, 1, 2, 1, 2, 1, 4}, stride[7] = {1, 1, 1, 1, 1, 1, 2};
	OK(ncmpi_put_vars_double_all(file, seven, start, count, stride, data));
	OK(ncmpi_put_vars_double_all(file, seven, start, count, NULL, data));
	for (int i = 0; i < 5; i++) {
		MPI_Offset from[3] = {i, 4 * rank, 0}, size[3] = {1, 4, 8};
		OK(ncmpi_put_vara_double_all(file, record, from, size, data));
	}
	OK(ncmpi_get_var_double_all(file, record, data));
	OK(ncmpi_get_var_double_all(file, fixed, data));
	MPI_Offset nothing[3] = {0, 0, 0};
	OK(ncmpi_get_vara_double_all(file, record, nothing, nothing, data));
	FAILS(ncmpi_put_var_double(file, fixed, data)); /* not independent now */
	FAILS(ncmpi_put_var_double_all(file, 17, data));
	data[1] = 1e30;
	MPI_Offset few[2] = {1, 2};
	RETURNS(NC_ERANGE, ncmpi_put_vara_double_all(file, fixed, nothing, few, data));
	OK(ncmpi_close(file));
}

/* The same numbers of variables mean others; a number comes again, and its variables are others, too. */
static void two_files(int rank)
{
	int file[2], n;
	MPI_Offset start = 10 * rank, count = 10;
	for (int i = 0; i < 2; i++) {
		OK(ncmpi_create(MPI_COMM_WORLD, i ? "second.nc" : "first.nc", NC_CLOBBER, MPI_INFO_NULL, &file[i]));
		OK(ncmpi_def_dim(file[i], "n", 80, &n));
		defined(file[i], "u", i ? NC_DOUBLE : NC_INT, 1, &n);
		if (i)
			defined(file[i], "w", NC_SHORT, 1, &n);
		OK(ncmpi_enddef(file[i]));
	}
	memset(data, 0, sizeof data);
	OK(ncmpi_put_vara_double_all(file[0], 0, &start, &count, data));
	OK(ncmpi_put_vara_double_all(file[1], 0, &start, &count, data));
	OK(ncmpi_put_vara_double_all(file[1], 1, &start, &count, data));
	OK(ncmpi_close(file[0]));
	int before = file[0];
	OK(ncmpi_close(file[1]));
	OK(ncmpi_open(MPI_COMM_WORLD, "second.nc", NC_NOWRITE, MPI_INFO_NULL, &file[1]));
	if (file[1] != before)
		MPI_Abort(MPI_COMM_WORLD, 2);                            /* the number is used again */
	OK(ncmpi_get_vara_double_all(file[1], 0, &start, &count, data)); /* never asked for by its name */
	OK(ncmpi_inq_varid(file[1], "w", &n));
	OK(ncmpi_get_vara_double_all(file[1], n, &start, &count, data));
	FAILS(ncmpi_inq_varid(file[1], "absent", &n));
	OK(ncmpi_close(file[1]));
}

int main(int argc, char **argv)
{
	int rank, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	shapes(rank, ranks);
	two_files(rank);
	MPI_Finalize();
	return 0;
}
