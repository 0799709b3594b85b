/* An image that the kernel has observed, as the store that a preloaded process of it would have left. */
#ifndef IOLENS_KERNEL_IMAGE_STORE_H
#define IOLENS_KERNEL_IMAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epoch.h"
#include "observed.h"

struct image_file {
	uint64_t name;
	char *path; /* cleaned; NULL = its name is not known (yet) */
	struct observed_file counts;
	bool counted;
};

struct image {
	uint64_t number;
	struct observed_head started, ended; /* ended.event: OBSERVED_EVENT_EXIT once it has */
	bool forked, preloaded, replaced;    /* replaced: by an exec */
	bool dirty;                          /* since its store was written */
	char exe[512];
	char command[OBSERVED_ARGS + 1];
	struct image_file *files;
	size_t nfiles;
};

/* The session that the store is for. */
struct image_session {
	const char *directory;
	char host[65];
	struct epoch epoch;
};

/* Writes it beside, and then under its name: a reader finds the one before or this one. False with errno. */
bool image_store_write(const struct image *image, const struct image_session *session);

#endif
