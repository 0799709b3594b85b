/*
 * Names: from a path as a program gave it to one entry per file, shared by all modules.
 * Cleaning and ids follow Darshan's rules, so that a file has the same id everywhere; beyond them, `..` is resolved
 * where no symbolic link stands before it (docs/decisions/0017).
 */
#ifndef IOLENS_NAMES_H
#define IOLENS_NAMES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"
#include "path.h"
#include "store.h"

/* Whether to ask a file for its layout. */
enum names_layout {
	NAMES_ASKED,         /* or has none */
	NAMES_LAYOUT_BEHIND, /* if a symbolic link has led to Lustre */
	NAMES_LAYOUT,
	NAMES_LAYOUT_GROWS /* once more, when it has been written further */
};

/* A file that some module has a record of. */
struct name {
	uint64_t id;
	const char *text;          /* in the store */
	int64_t alignment;         /* block size of its file system, -1 = unknown */
	bool overflow;             /* stands for files beyond the budget: of a mount, or of a package */
	bool dots;                 /* `..` behind a symbolic link */
	uint8_t layout;            /* enum names_layout */
	void *file[WRITTEN_COUNT]; /* each module's own state */
};

/* Once, before the first path. */
void names_start(char **environment);

/* The cleaned absolute form of `path` relative to directory descriptor `dir`; false if there is none. */
bool names_path(struct path *out, int dir, const char *path);

/* The name of the file that a tracked descriptor is open on, or NULL. */
const char *names_of_fd(int fd);

/* The path that the kernel knows for a descriptor; false if it is no path. */
bool names_path_of_fd(struct path *out, int fd);

/* What an excluded path counts as for a module; STATE_CLASS_NONE for a path that gets records. */
enum state_class_id names_class(int module, const struct path *p);

/* The same for a path that the calling thread opens: in MPI_Init and MPI_Finalize it is the MPI's. */
enum state_class_id names_open_class(int module, const struct path *p);

/*
 * What is known of a path as a program gave it, without a look at more than its letters: the class of one that is excluded,
 * or the entry of a file that is not. Neither, if it was not seen before in these letters.
 */
struct name *names_recall(int module, int dir, const char *path, enum state_class_id *class);

/* True for a path of that class that may be a link of /dev or /proc to an open file or a directory, such as /dev/stdin. */
bool names_may_lead(const char *path);
static inline bool names_leads(enum state_class_id class, const char *path)
{
	bool special = class == STATE_CLASS_DEVICE || class == STATE_CLASS_KERNEL;
	return __builtin_expect(special, 0) && names_may_lead(path);
}

/* Adds one open of a class that has no records. */
void names_count_class(enum state_class_id class);

/* Between names_lock, where that is true, and names_unlock: the entry of a path, made if need be; NULL when what it may use is used up. */
struct name *names_entry(const struct path *p, enum store_use use);
bool names_lock(void);
void names_unlock(void);

/* The entry of a path that has one, or NULL. */
struct name *names_find(const struct path *p);

/* The same for one that files beyond the budget share. */
struct name *names_shared_entry(const struct path *p, enum store_use use);
static inline bool names_is_overflow(const struct name *n)
{
	return n->overflow;
}

/* Around all that may change the working directory, or its name. Without the second, each use reads it from then on. */
void names_directory_changing(void);
void names_directory_changed(void);

/* The same where another directory becomes it. */
void names_directory_moving(void);
void names_directory_moved(void);

/* Has it become another one since, or is it about to? */
bool names_directory_since(double start);

/* Of a file that is open since `start`: the name that was made of its path may be in another directory than the file. */
static inline bool names_moved(int dir, const char *path, double start)
{
	return dir == AT_FDCWD && path[0] != '/' && __builtin_expect(names_directory_since(start), 0);
}

/* Asks for what names need of the kernel: the working directory and the mounts. */
void names_reserve(void);

void names_reset(void);

#endif
