/* A layout of each kind in a directory, for the fuzzer to begin with. */
#include <stdio.h>
#include <string.h>

#include "blob.h"

static const uint32_t targets[] = {1, 2, 3, 4};

static void make(int kind, struct blob *b)
{
	const struct blob_entry e[] = {{0x10001, BLOB_INIT, 0, 65536}, {0x20002, BLOB_INIT, 65536, BLOB_EOF}};
	const struct blob_stripes stripes[] = {
		{.size = 65536, .count = 4, .targets = targets},
		{.size = 65536, .count = 2, .pool = "pool", .targets = targets},
		{.pattern = 1 | BLOB_OVERSTRIPED, .size = 65536, .count = 4, .targets = targets},
		{.pattern = BLOB_RELEASED, .size = 65536, .count = 3},
		{.pattern = BLOB_MDT, .size = 65536},
	};
	const int plain = (int)(sizeof stripes / sizeof *stripes);
	memset(b, 0, sizeof *b);
	if (kind < plain) {
		blob_stripes(b, &stripes[kind]);
	} else if (kind == plain) {
		blob_foreign(b, 8);
	} else {
		blob_composite(b, e, 2);
		for (uint16_t k = 0; k < 2; k++) {
			blob_begin(b, k);
			blob_stripes(b, &stripes[k ? 1 : 4]);
			blob_end(b, k);
		}
	}
}

int main(int argc, char **argv)
{
	static struct blob b;
	char path[4096];
	for (int kind = 0; argc == 2 && kind < 7; kind++) {
		make(kind, &b);
		snprintf(path, sizeof path, "%s/layout-%d", argv[1], kind);
		FILE *f = fopen(path, "wb");
		if (!f || fwrite(b.at, b.n, 1, f) != 1 || fclose(f) != 0)
			return 1;
	}
	return argc != 2;
}
