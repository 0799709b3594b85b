/* One kind of PnetCDF call, many times, by one rank: pnetcdf FILE CALLS KIND */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int file, v, data[16];
static MPI_Offset start, count = 16;

static void put(void)
{
	ncmpi_put_vara_int_all(file, v, &start, &count, data);
}

static void get(void)
{
	ncmpi_get_vara_int_all(file, v, &start, &count, data);
}

static void get_one(void)
{
	ncmpi_get_var1_int_all(file, v, &start, data);
}

static void post_and_cancel(void)
{
	int request, code;
	ncmpi_iput_vara_int(file, v, &start, &count, data, &request);
	ncmpi_cancel(file, 1, &request, &code);
}

static void find(void)
{
	ncmpi_inq_varid(file, "v", &v);
}

static const struct {
	const char *name;
	void (*call)(void);
} kinds[] = {{"put_vara_int_all", put},
	     {"get_vara_int_all", get},
	     {"get_var1_int_all", get_one},
	     {"iput_vara_int, cancel", post_and_cancel},
	     {"inq_varid", find}};

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	int n, calls = atoi(argv[2]);
	MPI_Init(&argc, &argv);
	ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER, MPI_INFO_NULL, &file);
	ncmpi_def_dim(file, "n", 16000, &n);
	ncmpi_def_var(file, "v", NC_INT, 1, &n, &v);
	ncmpi_enddef(file);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(kinds[i].name, argv[3]))
			continue;
		double from = MPI_Wtime();
		for (int c = 0; c < calls; c++) {
			start = 16 * (c % 1000);
			kinds[i].call();
		}
		printf("%.1f\n", (MPI_Wtime() - from) * 1e9 / calls);
	}
	ncmpi_close(file);
	MPI_Finalize();
	return 0;
}
