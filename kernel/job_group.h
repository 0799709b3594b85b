/*
 * The programs that have a log in common: those of a scheduler's job on this node, else those of a group of processes (a
 * command of a shell, or a script). Its stores are in a directory of its own below the state directory; a later service of
 * the node finds them there, and goes on.
 */
#ifndef IOLENS_KERNEL_JOB_GROUP_H
#define IOLENS_KERNEL_JOB_GROUP_H

#include <sys/types.h>
#include <time.h>

#include "image_store.h"

enum { GROUP_PATH = 320, GROUP_LOGS = 2048 };

struct job_group {
	struct image_session session; /* its directory is path */
	char path[GROUP_PATH];
	uid_t user;
	pid_t processes; /* the group of processes; 0 = this is a scheduler's job (session.job) */
	pid_t first;     /* process */
	char program[64];
	char logs[GROUP_LOGS]; /* where its log goes */
	size_t running;        /* images, as counted by the service */
	pid_t writer;          /* makes the log; 0 = none does */
	time_t again;          /* not before: the last try has failed */
	unsigned tries;
};

/* A group for an image that is the first of it, with its directory. NULL with errno. */
struct job_group *group_make(const char *state, const struct image *i, const char *logs);

/* The groups that an earlier service has left; an array that a NULL ends. */
struct job_group **group_find_left(const char *state);

/* The number of the scheduler's job by an environment, 0 = none. */
int64_t group_job_of(const char *environment, size_t n);

/* A variable of it, or NULL. */
const char *group_variable(const char *environment, size_t n, const char *name);

/* Whether a process of the group is still there, also one that is not observed. */
bool group_lives(const struct job_group *g);

/* Something has been seen of it. */
bool group_has_stores(const struct job_group *g);

/* Hands the stores over to the user, and starts a process that makes the log as this user. False: later. */
bool group_write_log(struct job_group *g);

/* The log has been written: also by a process that an earlier service has started. */
bool group_is_written(const struct job_group *g);

/* Removes its directory. */
void group_remove(struct job_group *g);

#endif
