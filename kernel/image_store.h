/* An image that the kernel has observed, as the store that a preloaded process of it would have left. */
#ifndef IOLENS_KERNEL_IMAGE_STORE_H
#define IOLENS_KERNEL_IMAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epoch.h"
#include "index.h"
#include "observed.h"
#include "overflow.h"

struct image_file {
	uint64_t name;
	char *path; /* cleaned; NULL = its name is not known (yet) */
	struct observed_file counts;
	bool counted;
};

/* Where stores go. */
struct image_session {
	const char *directory;
	char host[65];
	struct epoch epoch;
	int64_t job; /* 0: the number of the process is its job's */
};

struct image_folded {
	struct overflow_directory directory[OVERFLOW_DIRECTORIES];
	struct overflow_index index;
};

struct image {
	uint64_t number;
	struct observed_head started, ended; /* ended.when: 0 = it has not */
	bool forked, preloaded, replaced;    /* replaced: by an exec */
	bool ignored;                        /* it is another's, or shall not be observed */
	bool dirty;                          /* since its store was written */
	bool stored;                         /* it has a store */
	char exe[512];
	char command[OBSERVED_ARGS + 1];
	char *environment; /* variables, each with a NUL; NULL = not known */
	size_t nenvironment;
	struct image_file *files; /* by number in `names` */
	size_t nfiles;
	struct index names;
	struct observed_image counts;
	struct overflow overflow;
	struct image_folded *folded;         /* NULL = no file was */
	const struct image_session *session; /* NULL = it has none (yet) */
};

/* Files of one image that have records of their own. */
uint64_t image_files(void);

/* Whether it has anything to record. */
bool image_worth_store(const struct image *i);

/* Writes it beside, and then under its name: a reader finds the one before or this one. False with errno. */
bool image_store_write(const struct image *image, const struct image_session *session);

/* It is not worth one: it was found to have a store of its own, or to have become another program at once. */
void image_store_remove(const struct image *image, const struct image_session *session);

/* The name of what files of the same mount share: as the runtime has it. */
const char *image_shared_path(const char *path, char out[OBSERVED_PATH]);

#endif
