/* Making a log from stores that are still there: what `iolens recover` and the next `iolens run` have in common. */
#ifndef IOLENS_RECOVERY_H
#define IOLENS_RECOVERY_H

#include <stdbool.h>
#include <stddef.h>

#include "assemble.h"

struct recovery {
	char **stores;
	size_t used, room;
};

/* 0, or an exit code, the reason printed. */
int recovery_add_store(struct recovery *r, const char *directory, const char *name);
int recovery_add_directory(struct recovery *r, const char *path);

/* What other users of a session have left: regular files only. Nothing where the path is "". */
int recovery_add_others(struct recovery *r, const char *path);

/* Leaves out the stores of MPI jobs whose ranks have written their log and were killed, or stopped, before they could remove them. */
struct recovery recovery_take_logged(struct recovery *r);

/* Names the log after the process that began first; below root, NULL = the current directory. */
void recovery_name(const struct recovery *r, const char *root, char *path, size_t room);

/* Where logs go without --output; NULL = the current directory. */
const char *recovery_root(void);

/* Processes that go on writing their stores. */
size_t recovery_running(const struct recovery *r);

/* Removes a store, and the directory of an MPI job when it was the last. */
void recovery_remove_store(char *path);

/* To another directory, of any file system; 0 or an errno, and nothing is lost. */
int recovery_move_store(char *path, const char *directory);
void recovery_free(struct recovery *r);

#endif
