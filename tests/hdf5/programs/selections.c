/*
 * What HDF5 says of selections that programs make in every way: selections SEED STEPS. For each write a line: the dataset,
 * the elements, the kind of the selection, and lengths and strides of a regular one.
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(call)                                        \
	do {                                            \
		if ((call) < 0) {                       \
			fprintf(stderr, "%s\n", #call); \
			exit(1);                        \
		}                                       \
	} while (0)

enum { SPACES = 5, MOST = 6, SIZE = 5 };

static hid_t file, space[SPACES];
static int rank[SPACES];
static char data[1 << 15];
static const char *path;

static int any(int below)
{
	return (int)(random() % below);
}

static void all_new(int i)
{
	hsize_t size[MOST];
	rank[i] = 1 + any(MOST);
	for (int d = 0; d < rank[i]; d++)
		size[d] = SIZE;
	OK(space[i] = H5Screate_simple(rank[i], size, NULL));
}

static void hyperslab(int i, H5S_seloper_t operation)
{
	hsize_t start[MOST], stride[MOST], count[MOST], block[MOST];
	int with_stride = any(3), with_block = any(3);
	for (int d = 0; d < MOST; d++) {
		block[d] = 1 + any(2);
		stride[d] = block[d] + any(3);
		hsize_t b = with_block ? block[d] : 1, s = with_stride ? stride[d] : 1;
		count[d] = 1 + any(SIZE);
		if (s < b)
			count[d] = 1;
		while (count[d] > 1 && (count[d] - 1) * s + b > SIZE)
			count[d]--;
		start[d] = any((int)(SIZE - ((count[d] - 1) * s + b)) + 1);
	}
	if (!any(20))
		count[any(rank[i])] = 0;
	int overlap = with_block && !with_stride; /* blocks that touch each other are refused unless there is one */
	for (int d = 0; overlap && d < MOST; d++)
		count[d] = count[d] ? 1 : 0;
	OK(H5Sselect_hyperslab(space[i], operation, start, with_stride ? stride : NULL, count,
			       with_block ? block : NULL));
}

static void points(int i)
{
	hsize_t at[4 * MOST];
	for (int d = 0; d < 4 * MOST; d++)
		at[d] = (hsize_t)any(SIZE);
	OK(H5Sselect_elements(space[i], any(2) ? H5S_SELECT_SET : H5S_SELECT_APPEND, 1, at));
}

static hid_t made(int i, const char *name)
{
	hsize_t size[MOST];
	for (int d = 0; d < rank[i]; d++)
		size[d] = SIZE;
	hid_t whole = H5Screate_simple(rank[i], size, NULL);
	hid_t d = H5Dcreate2(file, name, H5T_NATIVE_CHAR, whole, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	OK(d);
	H5Sclose(whole);
	return d;
}

static void of_a_dataset(int i)
{
	hid_t d = made(i, "of");
	OK(H5Sclose(space[i]));
	OK(space[i] = H5Dget_space(d));
	H5Dclose(d);
	OK(H5Ldelete(file, "of", H5P_DEFAULT));
}

static void change(int i)
{
	hsize_t size[MOST] = {SIZE, SIZE, SIZE, SIZE, SIZE, SIZE};
	int other = any(SPACES);
	switch (any(20)) {
	case 0:
		points(i);
		break;
	case 1:
		OK(H5Sselect_all(space[i]));
		break;
	case 2:
		OK(H5Sselect_none(space[i]));
		break;
	case 3:
		if (other != i && rank[other] == rank[i])
			OK(H5Sselect_copy(space[i], space[other]));
		break;
	case 4:
		if (rank[other] == rank[i] && H5Sget_select_type(space[i]) == H5S_SEL_HYPERSLABS &&
		    H5Sget_select_type(space[other]) == H5S_SEL_HYPERSLABS && other != i)
			OK(H5Smodify_select(space[i], H5S_SELECT_OR, space[other]));
		break;
	case 5:
		OK(any(2) ? H5Sclose(space[i]) : H5Idec_ref(space[i]));
		all_new(i);
		break;
	case 6:
		if (other != i) {
			OK(H5Sclose(space[i]));
			OK(space[i] = H5Scopy(space[other]));
			rank[i] = rank[other];
		}
		break;
	case 7:
		OK(H5Sselect_all(space[i]));
		rank[i] = 1 + any(MOST);
		OK(H5Sset_extent_simple(space[i], rank[i], size, NULL));
		break;
	case 8:
		if (other != i) {
			OK(H5Sselect_all(space[i]));
			OK(H5Sextent_copy(space[i], space[other]));
			rank[i] = rank[other];
		}
		break;
	case 9:
		if (H5Sget_select_type(space[i]) != H5S_SEL_POINTS && H5Sget_select_type(space[i]) != H5S_SEL_NONE)
			hyperslab(i, H5S_SELECT_OR);
		break;
	case 10:
		of_a_dataset(i);
		break;
	default:
		hyperslab(i, H5S_SELECT_SET);
	}
}

static void say(const char *name, int i)
{
	hsize_t start[MOST], stride[MOST], count[MOST], block[MOST];
	H5S_sel_type type = H5Sget_select_type(space[i]);
	int regular = type == H5S_SEL_HYPERSLABS && H5Sis_regular_hyperslab(space[i]) > 0;
	const char *kind = type == H5S_SEL_POINTS       ? "points"
			   : type != H5S_SEL_HYPERSLABS ? "other"
			   : regular                    ? "regular"
							: "irregular";
	printf("%s %lld %s", name, (long long)H5Sget_select_npoints(space[i]), kind);
	if (regular)
		OK(H5Sget_regular_hyperslab(space[i], start, stride, count, block));
	for (int d = 0; regular && d < rank[i]; d++)
		printf(" %lld/%lld", (long long)(count[d] * block[d]), (long long)stride[d]);
	printf("\n");
}

static void transfer(int i, int number)
{
	char name[16];
	snprintf(name, sizeof name, "d%d", number);
	hsize_t n = (hsize_t)H5Sget_select_npoints(space[i]), room = n ? n : 1;
	hid_t d = made(i, name), memory = H5Screate_simple(1, &room, NULL);
	if (!n)
		OK(H5Sselect_none(memory));
	if (H5Dwrite(d, H5T_NATIVE_CHAR, memory, space[i], H5P_DEFAULT, data) >= 0)
		say(name, i);
	H5Sclose(memory);
	H5Dclose(d);
}

/* Numbers begin again. */
static void library_again(void)
{
	OK(H5close());
	OK(H5open());
	OK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
	OK(file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));
	for (int i = 0; i < SPACES; i++)
		all_new(i);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	srandom((unsigned)atoi(argv[1]));
	path = "selections.h5";
	OK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
	OK(file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	for (int i = 0; i < SPACES; i++)
		all_new(i);
	for (int n = 0, steps = atoi(argv[2]); n < steps; n++) {
		int i = any(SPACES);
		for (int changes = any(3); changes >= 0; changes--)
			change(i);
		transfer(i, n);
		if (n == steps / 2)
			library_again();
	}
	OK(H5Fclose(file));
	return 0;
}
