/* Files and datasets with the handles of any release (HANDLE: int in 1.8, int64_t since), without its headers: what a
 * program does is on standard output, too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef HANDLE hid_t;
typedef unsigned long long hsize_t;

extern int H5open(void), H5get_libversion(unsigned *, unsigned *, unsigned *), H5close(void);
extern hid_t H5Fcreate(const char *, unsigned, hid_t, hid_t), H5Fopen(const char *, unsigned, hid_t);
extern int H5Fflush(hid_t, int), H5Fclose(hid_t);
extern hid_t H5Gcreate2(hid_t, const char *, hid_t, hid_t, hid_t);
extern int H5Gclose(hid_t);
extern hid_t H5Screate_simple(int, const hsize_t *, const hsize_t *);
extern int H5Sselect_hyperslab(hid_t, int, const hsize_t *, const hsize_t *, const hsize_t *, const hsize_t *);
extern int H5Sselect_elements(hid_t, int, size_t, const hsize_t *), H5Sclose(hid_t);
extern hid_t H5Pcreate(hid_t);
extern int H5Pset_chunk(hid_t, int, const hsize_t *), H5Pclose(hid_t);
extern hid_t H5Dcreate2(hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t), H5Dopen2(hid_t, const char *, hid_t);
extern int H5Dwrite(hid_t, hid_t, hid_t, hid_t, hid_t, const void *), H5Dclose(hid_t);
extern int H5Dread(hid_t, hid_t, hid_t, hid_t, hid_t, void *);
extern hid_t H5Acreate2(hid_t, const char *, hid_t, hid_t, hid_t, hid_t);
extern int H5Awrite(hid_t, hid_t, const void *), H5Aclose(hid_t);
extern hid_t H5T_NATIVE_DOUBLE_g, DATASET_CREATION;

enum { SELECT_SET = 0, ALL = 0, DEFAULT = 0, TRUNCATE = 2, READ_ONLY = 0, ROWS = 40, COLUMNS = 60, TURNS = 500 };

static double data[ROWS * COLUMNS];

static hid_t good(hid_t handle)
{
	if (handle < 0)
		exit(1);
	return handle;
}

/* Dataspaces come and go: where a release gives a number again, another selection has it. */
static void turns(hid_t dataset, int columns)
{
	hsize_t size[2] = {ROWS, COLUMNS};
	for (int i = 0; i < TURNS; i++) {
		hsize_t start[2] = {0, 0}, count[2] = {1 + (hsize_t)i % ROWS, columns};
		hsize_t n = count[0] * count[1];
		hid_t file = good(H5Screate_simple(2, size, NULL)), memory = good(H5Screate_simple(1, &n, NULL));
		good(H5Sselect_hyperslab(file, SELECT_SET, start, NULL, count, NULL));
		good(H5Dwrite(dataset, H5T_NATIVE_DOUBLE_g, memory, file, DEFAULT, data));
		good(H5Sclose(file));
		good(H5Sclose(memory));
	}
}

static void write_file(void)
{
	hsize_t size[2] = {ROWS, COLUMNS}, chunk[2] = {10, 20}, one = 1;
	hid_t f = good(H5Fcreate("release.h5", TRUNCATE, DEFAULT, DEFAULT));
	hid_t g = good(H5Gcreate2(f, "group", DEFAULT, DEFAULT, DEFAULT));
	hid_t space = good(H5Screate_simple(2, size, NULL)), list = good(H5Pcreate(DATASET_CREATION));
	good(H5Pset_chunk(list, 2, chunk));
	hid_t d = good(H5Dcreate2(g, "table", H5T_NATIVE_DOUBLE_g, space, DEFAULT, list, DEFAULT));
	good(H5Dwrite(d, H5T_NATIVE_DOUBLE_g, ALL, ALL, DEFAULT, data));
	turns(d, 3);
	hid_t scalar = good(H5Screate_simple(1, &one, NULL));
	hid_t a = good(H5Acreate2(d, "unit", H5T_NATIVE_DOUBLE_g, scalar, DEFAULT, DEFAULT));
	good(H5Awrite(a, H5T_NATIVE_DOUBLE_g, data));
	good(H5Aclose(a));
	good(H5Fflush(f, 0));
	good(H5Sclose(scalar));
	good(H5Pclose(list));
	good(H5Sclose(space));
	good(H5Dclose(d));
	good(H5Gclose(g));
	good(H5Fclose(f));
}

static double read_file(void)
{
	hsize_t size[2] = {ROWS, COLUMNS}, points[4] = {0, 0, 39, 59}, two = 2;
	double found[2] = {0};
	hid_t f = good(H5Fopen("release.h5", READ_ONLY, DEFAULT)), d = good(H5Dopen2(f, "/group/table", DEFAULT));
	hid_t space = good(H5Screate_simple(2, size, NULL)), memory = good(H5Screate_simple(1, &two, NULL));
	good(H5Sselect_elements(space, SELECT_SET, 2, points));
	good(H5Dread(d, H5T_NATIVE_DOUBLE_g, memory, space, DEFAULT, found));
	good(H5Sclose(memory));
	good(H5Sclose(space));
	good(H5Dclose(d));
	good(H5Fclose(f));
	return found[0] + found[1];
}

int main(void)
{
	unsigned release[3];
	for (int i = 0; i < ROWS * COLUMNS; i++)
		data[i] = i + 1;
	good(H5open());
	good(H5get_libversion(release, release + 1, release + 2));
	write_file();
	printf("%u.%u.%u %.0f\n", release[0], release[1], release[2], read_file());
	return 0;
}
