/* Writes small logs into a directory: the fuzzer's starting points. */
#include <stdio.h>
#include <stdlib.h>

#include "make.h"

static void save(const char *directory, int number, uint8_t *data, size_t size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/seed-%02d", directory, number);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
		perror(path);
		exit(1);
	}
	free(data);
}

int main(int argc, char **argv)
{
	static const int minors[] = {0, 10, 21, 41};
	uint64_t seed = 1, heat[14] = {9, 0, 0, 4};
	struct posix_record p;
	size_t size;
	int n = 0;
	if (argc != 2)
		return 2;
	uint8_t *log = make_log(&size);
	save(argv[1], n++, log, size);
	make_posix(&p, &seed, 5, 2);
	for (int i = 0; i < 4; i++) {
		for (int swapped = 0; swapped < 2; swapped++) {
			struct other_log o = {.minor = minors[i], .swapped = swapped, .compression = LOG_PLAIN};
			o.region[o.regions++] = (struct other_region){1, i + 1, &p, sizeof p};
			if (minors[i] == 41)
				o.region[o.regions++] = (struct other_region){15, 1, heat, sizeof heat};
			log = make_other_log(&o, &size);
			save(argv[1], n++, log, size);
		}
	}
	return 0;
}
