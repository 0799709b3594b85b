/* The private directory in which the processes of one `iolens run` leave their stores. */
#ifndef IOLENS_SESSION_DIR_H
#define IOLENS_SESSION_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "epoch.h"

struct session_dir {
	char path[256];
	char shared[4096]; /* for stores of other nodes; "" = none are expected */
	char logs[4096];   /* the directory that the log goes to; "" = not known */
	char others[320];  /* for stores of other users; "" = this is not root */
	char host[65];
	char preload[4096];
	char synchronization[4096]; /* preloaded behind it; "" = not asked for */
	char ranges[4096];          /* preloaded behind it, and NVTX's tool; "" = ranges are not asked for */
	char python[4096];          /* first for every Python then: what follows PyTorch's ranges */
	struct epoch epoch;
	int lock; /* the directory, held until we end; -1 = this file system has no locks, or there is no descriptor left */
};

/* What the next run needs to know of a session whose `iolens run` was killed. */
struct session_pointer {
	char namespace[160]; /* the machine, and its process numbers: only there can be told who is alive */
	char log[4096];      /* where the log shall go: a path, or a directory with a slash at its end */
	char shared[4096];   /* where stores of other nodes are, or "" */
};

enum { SESSION_PARENTS = 5 };

/* Where sessions are made, the first choice first; NULL = not set. */
void session_dir_parents(const char *parents[SESSION_PARENTS]);

/* The n-th is none, or one that stands before it. */
bool session_dir_parent_again(const char *const *parents, size_t n);

/* What is asked for beside the library. */
enum {
	SESSION_COMMUNICATION = 1,   /* MPI communication is counted, */
	SESSION_SYNCHRONIZATION = 2, /* and ranks meet before collective calls */
	SESSION_RANGES = 4           /* ranges are phases */
};

/* Makes it; 0 or an exit code, the reason printed. */
int session_dir_make(struct session_dir *s, unsigned wanted);

/* Processes on other nodes leave their stores below this directory: they see it, too. */
void session_dir_share(struct session_dir *s, const char *directory);

/* Leaves a note in it: where the log shall go. */
void session_dir_leave_pointer(const struct session_dir *s, const char *log);

/* Leaves beside the stores what this node is. */
void session_dir_describe_node(const struct session_dir *s);

/* Takes over an unlocked session of this user: the lock on it, or -1. */
int session_dir_adopt(const char *path, struct session_pointer *note);

/* In the child that becomes the command: lets the session's processes find it. */
void session_dir_environment(const struct session_dir *s, bool preload);

/* Some process has left a store there; where the directory is gone none has. */
bool session_dir_holds_store(const char *path);

/* No process has left a store. */
bool session_dir_empty(const struct session_dir *s);

/* Removes the directory with everything in it. */
void session_dir_remove(const struct session_dir *s);

#endif
