/* Reads everything there is in a log, for tests that only ask whether the reader survives. */
#ifndef IOLENS_WALK_H
#define IOLENS_WALK_H

#include <stddef.h>
#include <stdint.h>

struct walked {
	int opened;
	int errors;
	uint64_t records;
	uint64_t rows;
};

struct walked walk_log(const uint8_t *data, size_t size);

#endif
