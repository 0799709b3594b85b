/* What the storage below a directory gives one process: measured with files that are gone afterwards. */
#ifndef IOLENS_MEASURE_H
#define IOLENS_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

struct measured {
	int64_t count; /* calls, files */
	int64_t bytes;
	double seconds;
};

enum measure_id {
	MEASURE_WRITE,  /* sequential, forced to storage at the end */
	MEASURE_READ,   /* sequential */
	MEASURE_RANDOM, /* one small read at a time */
	MEASURE_CREATE,
	MEASURE_STAT,
	MEASURE_UNLINK,
	MEASURE_COUNT
};

enum { MEASURE_BLOCK = 1 << 20, MEASURE_SMALL = 4096 };

struct measurement {
	struct measured of[MEASURE_COUNT];
	bool direct; /* reads went past the page cache */
};

/*
 * In a folder of its own below `directory`, which is removed, also after a signal that would end the process. Each part takes
 * `seconds` at most, the file `size` bytes. Returns 0 or errno; *failed is then what could not be done. A signal: EINTR.
 */
int measure(const char *directory, double seconds, int64_t size, struct measurement *m, const char **failed);

#endif
