/* One kind of HDF5 call, many times: hdf5 FILE CALLS KIND */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 64 };

static char data[SIZE];
static hid_t file, space, memory, part, whole;

static void write_part(void)
{
	H5Dwrite(part, H5T_NATIVE_CHAR, memory, space, H5P_DEFAULT, data);
}

static void space_and_write_part(void)
{
	hsize_t start = 0, few = SIZE;
	hid_t of = H5Dget_space(part);
	H5Sselect_hyperslab(of, H5S_SELECT_SET, &start, NULL, &few, NULL);
	H5Dwrite(part, H5T_NATIVE_CHAR, memory, of, H5P_DEFAULT, data);
	H5Sclose(of);
}

static void read_part(void)
{
	H5Dread(part, H5T_NATIVE_CHAR, memory, space, H5P_DEFAULT, data);
}

static void write_whole(void)
{
	H5Dwrite(whole, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
}

static void read_whole(void)
{
	H5Dread(whole, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
}

static void open_close(void)
{
	H5Dclose(H5Dopen2(file, "whole", H5P_DEFAULT));
}

static void flush(void)
{
	H5Fflush(file, H5F_SCOPE_LOCAL);
}

static const struct {
	const char *name;
	void (*call)(void);
} kinds[] = {{"write-hyperslab", write_part},
	     {"get-select-write-close", space_and_write_part},
	     {"read-hyperslab", read_part},
	     {"write-all", write_whole},
	     {"read-all", read_whole},
	     {"open+close", open_close},
	     {"flush", flush}};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	hsize_t many = SIZE * 1000, few = SIZE, start = 0;
	file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	space = H5Screate_simple(1, &many, NULL);
	memory = H5Screate_simple(1, &few, NULL);
	part = H5Dcreate2(file, "part", H5T_NATIVE_CHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	whole = H5Dcreate2(file, "whole", H5T_NATIVE_CHAR, memory, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &few, NULL);
	int calls = atoi(argv[2]);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(kinds[i].name, argv[3]))
			continue;
		double from = now();
		for (int n = 0; n < calls; n++)
			kinds[i].call();
		printf("%.1f\n", (now() - from) / calls);
	}
	H5Dclose(part);
	H5Dclose(whole);
	H5Fclose(file);
	return 0;
}
