/* One process, every call that is counted, in the order of test_hdf5.py's tables: calls FOLDER [WHAT] */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call)                                        \
	do {                                            \
		if ((call) < 0) {                       \
			fprintf(stderr, "%s\n", #call); \
			exit(1);                        \
		}                                       \
	} while (0)

static double data[4096];

static hid_t made(hid_t at, const char *name, int dimensions, const hsize_t *size, const hsize_t *chunk)
{
	hid_t space = H5Screate_simple(dimensions, size, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
	if (chunk)
		OK(H5Pset_chunk(list, dimensions, chunk));
	hid_t d = H5Dcreate2(at, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
	OK(d);
	H5Pclose(list);
	H5Sclose(space);
	return d;
}

static void put(hid_t d, hid_t memory, hid_t space)
{
	OK(H5Dwrite(d, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data));
}

static void get(hid_t d, hid_t memory, hid_t space)
{
	OK(H5Dread(d, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data));
}

/* Flushes by the file, a group, a dataset, another handle, and a dataset whose file is closed. */
static void files(void)
{
	hsize_t size = 8;
	hid_t f = H5Fcreate("files.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), again = H5Freopen(f);
	hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), d = made(g, "d", 1, &size, NULL);
	OK(H5Fflush(f, H5F_SCOPE_LOCAL));
	OK(H5Fflush(g, H5F_SCOPE_LOCAL));
	OK(H5Fflush(d, H5F_SCOPE_LOCAL));
	OK(H5Fflush(again, H5F_SCOPE_GLOBAL));
	H5Fclose(again);
	H5Fclose(f);
	OK(H5Fflush(d, H5F_SCOPE_LOCAL));
	H5Gclose(g);
	put(d, H5S_ALL, H5S_ALL);
	OK(H5Dflush(d));
	H5Dclose(d);
	OK(chdir(".."));
	OK(f = H5Fopen("work/files.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
	OK(chdir("work"));
	OK(d = H5Dopen2(f, "g/d", H5P_DEFAULT));
	get(d, H5S_ALL, H5S_ALL);
	H5Idec_ref(d);
	H5Idec_ref(f);
	H5E_BEGIN_TRY
	{
		if (H5Fopen("missing.h5", H5F_ACC_RDONLY, H5P_DEFAULT) >= 0 || H5Dclose(d) >= 0 || H5Fclose(f) >= 0)
			exit(2);
	}
	H5E_END_TRY
}

/* One dataset by five names and ways; an anonymous one; links. */
static void names(void)
{
	hsize_t size = 16;
	hid_t f = H5Fcreate("names.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	H5Dclose(made(g, "d", 1, &size, NULL));
	hid_t open[] = {H5Dopen2(f, "g/d", H5P_DEFAULT), H5Dopen2(f, "/g/d", H5P_DEFAULT), H5Dopen1(g, "d"),
			H5Oopen(f, "g/d", H5P_DEFAULT),
			H5Oopen_by_idx(f, "g", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT)};
	for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
		get(open[i], H5S_ALL, H5S_ALL);
		OK(i % 2 ? H5Dclose(open[i]) : H5Oclose(open[i]));
	}
	H5Oclose(H5Oopen(f, "g", H5P_DEFAULT));
	OK(H5Lcreate_soft("/g/d", f, "soft", H5P_DEFAULT, H5P_DEFAULT));
	hid_t d = H5Dopen2(f, "soft", H5P_DEFAULT);
	put(d, H5S_ALL, H5S_ALL);
	H5Dclose(d);
	hid_t space = H5Screate_simple(1, &size, NULL);
	d = H5Dcreate_anon(f, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
	put(d, H5S_ALL, H5S_ALL);
	H5Dclose(d);
	H5Sclose(space);
	H5Gclose(g);
	H5Fclose(f);
}

/* Selections: all by name and by space, none, regular, irregular, points. */
static void shapes(void)
{
	hsize_t size[3] = {4, 6, 8}, chunk[3] = {2, 3, 4}, start[3] = {0, 1, 2}, stride[3] = {2, 3, 4};
	hsize_t count[3] = {2, 1, 2}, block[3] = {1, 2, 1}, one[3] = {1, 1, 1}, points[6] = {0, 0, 0, 3, 5, 7}, n = 8;
	hid_t f = H5Fcreate("shapes.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), d = made(f, "d", 3, size, chunk);
	hid_t space = H5Dget_space(d), memory = H5Screate_simple(1, &n, NULL);
	put(d, H5S_ALL, H5S_ALL);
	OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block));
	for (int i = 0; i < 3; i++)
		put(d, memory, space);
	get(d, memory, space);
	OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL));
	OK(H5Sselect_hyperslab(space, H5S_SELECT_OR, chunk, NULL, one, NULL));
	n = 2;
	hid_t two = H5Screate_simple(1, &n, NULL);
	get(d, two, space);
	OK(H5Sselect_elements(space, H5S_SELECT_SET, 2, points));
	get(d, two, space);
	OK(H5Sselect_none(space));
	OK(H5Sselect_none(two));
	get(d, two, space);
	OK(H5Sselect_all(space));
	get(d, space, space);
	H5Sclose(two);
	H5Sclose(memory);
	H5Sclose(space);
	H5Dclose(d);
	H5Fclose(f);
}

/* Seven dimensions: nothing is written past the five that a record has. */
static void deep(void)
{
	hsize_t size[7] = {2, 2, 3, 2, 4, 2, 3}, chunk[7] = {1, 2, 3, 2, 4, 2, 3}, start[7] = {0};
	hsize_t count[7] = {2, 1, 3, 2, 4, 1, 3};
	hid_t f = H5Fcreate("deep.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), d = made(f, "d", 7, size, chunk);
	hid_t space = H5Dget_space(d);
	OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
	put(d, space, space);
	H5Sclose(space);
	H5Dclose(d);
	H5Fclose(f);
}

/* A dataset that grows, attributes, chunks past the filters. */
static void growing(void)
{
	hsize_t size = 10, most = H5S_UNLIMITED, chunk = 10, offset = 0, stored = 0;
	uint32_t filters = 0;
	hid_t f = H5Fcreate("growing.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t space = H5Screate_simple(1, &size, &most), list = H5Pcreate(H5P_DATASET_CREATE);
	OK(H5Pset_chunk(list, 1, &chunk));
	hid_t d = H5Dcreate1(f, "d", H5T_NATIVE_DOUBLE, space, list), a;
	put(d, H5S_ALL, H5S_ALL);
	size = 30;
	OK(H5Dset_extent(d, &size));
	put(d, H5S_ALL, H5S_ALL);
	OK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, &offset, 10 * sizeof *data, data));
	OK(H5Dget_chunk_storage_size(d, &offset, &stored));
	OK(H5Dread_chunk(d, H5P_DEFAULT, &offset, &filters, data));
	hid_t scalar = H5Screate(H5S_SCALAR);
	OK(a = H5Acreate2(d, "unit", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT));
	int value = 3;
	OK(H5Awrite(a, H5T_NATIVE_INT, &value));
	OK(H5Aread(a, H5T_NATIVE_INT, &value));
	OK(H5Aread(a, H5T_NATIVE_INT, &value));
	H5Aclose(a);
	H5Sclose(scalar);
	H5Pclose(list);
	H5Sclose(space);
	H5Dclose(d);
	H5Fclose(f);
}

/* A forked child goes on with what its parent has open. */
static void forked(void)
{
	hsize_t size = 32;
	hid_t f = H5Fcreate("forked.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), d = made(f, "d", 1, &size, NULL);
	put(d, H5S_ALL, H5S_ALL);
	OK(H5Fflush(f, H5F_SCOPE_GLOBAL));
	pid_t child = fork();
	if (!child) {
		get(d, H5S_ALL, H5S_ALL);
		get(d, H5S_ALL, H5S_ALL);
		_exit(0);
	}
	int status;
	if (waitpid(child, &status, 0) != child || status)
		exit(3);
	H5Dclose(d);
	H5Fclose(f);
}

/* Many handles: what is kept of them is used again. */
static void often(void)
{
	hsize_t size = 4;
	hid_t f = H5Fcreate("often.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	H5Dclose(made(f, "d", 1, &size, NULL));
	for (int i = 0; i < 20000; i++) {
		hid_t d = H5Dopen2(f, "d", H5P_DEFAULT);
		get(d, H5S_ALL, H5S_ALL);
		OK(i % 2 ? H5Dclose(d) : H5Oclose(d));
	}
	H5Fclose(f);
}

/* Ids and pointers that are none: HDF5 refuses them, and nothing is recorded. */
static void hostile(void)
{
	static const hid_t wrong[] = {-1, 0, 1, 12345, (hid_t)5 << 56, INT64_MIN, INT64_MAX};
	hsize_t size = 4;
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		hid_t id = wrong[i];
		int done = H5Dread(id, id, id, id, id, NULL) >= 0;
		done += H5Dwrite(id, id, id, id, id, NULL) >= 0;
		done += H5Dclose(id) >= 0;
		done += H5Oclose(id) >= 0;
		done += H5Idec_ref(id) >= 0;
		done += H5Dflush(id) >= 0;
		done += H5Dset_extent(id, &size) >= 0;
		done += H5Fflush(id, H5F_SCOPE_LOCAL) >= 0;
		done += H5Fclose(id) >= 0;
		done += H5Freopen(id) >= 0;
		done += H5Aread(id, id, NULL) >= 0;
		done += H5Awrite(id, id, NULL) >= 0;
		done += H5Dopen1(id, NULL) >= 0;
		done += H5Dopen2(id, "", id) >= 0;
		done += H5Dcreate1(id, NULL, id, id, id) >= 0;
		done += H5Dcreate2(id, NULL, id, id, id, id, id) >= 0;
		done += H5Oopen(id, NULL, id) >= 0;
		done += H5Oopen_by_addr(id, HADDR_UNDEF) >= 0;
		done += H5Oopen_by_idx(id, NULL, H5_INDEX_NAME, H5_ITER_INC, 0, id) >= 0;
		done += H5Fopen(NULL, 0, id) >= 0;
		done += H5Fcreate(NULL, 0, id, id) >= 0;
		done += H5Dread_chunk(id, id, NULL, NULL, NULL) >= 0;
		done += H5Dwrite_chunk(id, id, 0, NULL, 0, NULL) >= 0;
		if (done)
			exit(5);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} all[] = {{"files", files},     {"names", names},   {"shapes", shapes}, {"deep", deep},
	   {"growing", growing}, {"forked", forked}, {"often", often},   {"hostile", hostile}};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (argc > 1 && !strcmp(argv[1], all[i].name)) {
			all[i].run();
			return 0;
		}
	return 4;
}
