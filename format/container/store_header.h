/* What a store begins with: the header of a 3.41 log, and its job region. */
#ifndef IOLENS_STORE_HEADER_H
#define IOLENS_STORE_HEADER_H

#include <stdint.h>

#include "container.h"

struct placed {
	uint64_t offset;
	uint64_t length;
};

struct header {
	char version[8];
	int64_t magic;
	uint8_t compression;
	uint8_t padding[7];
	uint64_t partial;
	struct placed names;
	struct placed module[LOG_MAX_MODULES];
	uint32_t module_version[LOG_MAX_MODULES];
};

_Static_assert(sizeof(struct header) == CONTAINER_HEADER, "header of the format");

struct job {
	int64_t uid;
	int64_t start, start_ns;
	int64_t end, end_ns;
	int64_t nprocs;
	int64_t id;
	char metadata[CONTAINER_METADATA];
	char command[CONTAINER_JOB_MAX - CONTAINER_JOB];
};

#endif
