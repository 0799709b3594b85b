/* The header of a log, all versions of it, brought to the form of 3.41. */
#ifndef IOLENS_CONTAINER_H
#define IOLENS_CONTAINER_H

#include "log.h"
#include "source.h"

enum {
	CONTAINER_MAGIC = 6567223,
	CONTAINER_HEADER = 1328, /* of a 3.41 log */
	CONTAINER_JOB = 1080,    /* fixed part of its job region */
	CONTAINER_JOB_MAX = 4096,
	CONTAINER_METADATA = 1024,
};

int container_read(struct log_container *c, const struct source *s, struct log_error *err);

/* Is the region within the file and apart from the others? A region cut by the end of the file is LOG_E_TRUNCATED. */
int container_check_region(const struct log_container *c, const struct log_region *r, struct log_error *err);

/* Native value of an 8-byte field. */
uint64_t container_u64(const struct log_container *c, const void *at);
void container_swap(const struct log_container *c, void *words, size_t n);

#endif
