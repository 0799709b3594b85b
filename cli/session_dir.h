/* The private directory in which the processes of one `iolens run` leave their stores. */
#ifndef IOLENS_SESSION_DIR_H
#define IOLENS_SESSION_DIR_H

#include <stdbool.h>

#include "epoch.h"

struct session_dir {
	char path[256];
	char host[65];
	char preload[4096];
	struct epoch epoch;
};

/* Makes it; 0 or an exit code, the reason printed. */
int session_dir_make(struct session_dir *s);

/* In the child that becomes the command: lets the session's processes find it. */
void session_dir_environment(const struct session_dir *s);

/* No process has left a store. */
bool session_dir_empty(const struct session_dir *s);

/* Removes the directory with everything in it. */
void session_dir_remove(const struct session_dir *s);

#endif
