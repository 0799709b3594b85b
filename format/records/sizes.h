/* The ten size classes of accesses. */
#ifndef IOLENS_SIZES_H
#define IOLENS_SIZES_H

#include <stdint.h>

/* Upper edges, inclusive. */
static const int64_t sizes_edges[] = {100,     1024,     10240,     102400,     1048576,
				      4194304, 10485760, 104857600, 1073741824, INT64_MAX};

/* The class of a size, looked up by the bit length of size - 1: that tells the class of its lower end. */
static inline int sizes_class(int64_t n)
{
	static const uint8_t lowest[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3,
					 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 7, 7, 8, 8, 8};
	if (n <= 1)
		return 0;
	int bits = 64 - __builtin_clzll((uint64_t)n - 1);
	if (bits > 30)
		return 9;
	int class = lowest[bits];
	return class + (n > sizes_edges[class]);
}

#endif
