/* A dataset that is written before it has a name, and one that never gets one. */
#include <hdf5.h>
int main(void)
{
	static double data[500];
	hsize_t size = 500, half = 250, from = 0;
	hid_t file = H5Fcreate("u.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
	      space = H5Screate_simple(1, &size, NULL);
	hid_t part = H5Scopy(space), memory = H5Screate_simple(1, &half, NULL);
	H5Sselect_hyperslab(part, H5S_SELECT_SET, &from, NULL, &half, NULL);
	for (int linked = 0; linked < 2; linked++) {
		hid_t set = H5Dcreate_anon(file, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
		if (H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0 ||
		    H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, part, H5P_DEFAULT, data) < 0)
			return 1;
		if (linked && H5Olink(set, file, "late", H5P_DEFAULT, H5P_DEFAULT) < 0)
			return 2;
		if (linked && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
			return 3;
		H5Dclose(set);
	}
	return H5Fclose(file) < 0;
}
