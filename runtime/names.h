/*
 * Names: from a path as a program gave it to one entry per file, shared by all modules.
 * Cleaning and ids follow Darshan's rules, so that a file has the same id everywhere.
 */
#ifndef IOLENS_NAMES_H
#define IOLENS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "live.h"

enum { NAMES_PATH_MAX = 4096 };

enum names_slot { NAMES_POSIX, NAMES_STDIO, NAMES_MPIIO, NAMES_SLOTS };

struct path {
	uint32_t length;
	char text[NAMES_PATH_MAX];
};

/* A file that some module has a record of. */
struct name {
	uint64_t id;
	const char *text;        /* in the store */
	int64_t alignment;       /* block size of its file system, -1 = unknown */
	bool fold;               /* stands for all files beyond the budget on one mount */
	void *file[NAMES_SLOTS]; /* each module's own state */
};

/* The cleaned absolute form of `path` relative to directory descriptor `dir`; false if there is none. */
bool names_path(struct path *out, int dir, const char *path);

/* The path that the kernel knows for a descriptor; false if it is no path. */
bool names_path_of_fd(struct path *out, int fd);

/* What an excluded path counts as for a module; LIVE_CLASS_NONE for a path that gets records. */
enum live_class_id names_class(int module, const struct path *p);

/*
 * What is known of a path as a program gave it, without a look at more than its letters: the class of one that is excluded,
 * or the entry of a file that is not. Neither, if it was not seen before in these letters.
 */
struct name *names_recall(int module, const char *path, enum live_class_id *class);

/* Adds one open of a class that has no records. */
void names_count_class(enum live_class_id class);

/* Between names_lock and names_unlock: the entry of a path, made if need be (NULL when the budget is used up); or only looked up. */
struct name *names_entry(const struct path *p);
struct name *names_find(const struct path *p);
void names_lock(void);
void names_unlock(void);

/*
 * The entry that files beyond the budget share, one per mount point: what was folded is counted, and the
 * module is marked partial. Inside names_lock.
 */
struct name *names_fold(int module, const struct path *p);

/* True for such an entry: its records are not held against the budget. */
bool names_is_fold(const struct name *n);

/* The working directory changed. */
void names_directory_changed(void);

void names_reset(void);

#endif
