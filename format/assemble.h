/*
 * From the stores of a session's processes to the one log of the job. Program image i, in order of
 * start, becomes rank i; time counts from the session's epoch; what the stores hold beside Darshan's
 * records goes into the extension trailer (docs/reference/trailer.md).
 */
#ifndef IOLENS_ASSEMBLE_H
#define IOLENS_ASSEMBLE_H

#include "epoch.h"
#include "error.h"

struct assemble_job {
	struct epoch epoch;
	int64_t id;           /* 0: the first image's */
	int64_t ended;        /* ns since 1970; 0 = the latest end known */
};

/* All stores of a directory. Returns the number of images, or a negative code. */
int assemble_directory(const struct assemble_job *job, const char *directory, const char *path, struct log_error *err);

/* One store in memory: a process writes its own log. */
int assemble_memory(const struct assemble_job *job, const void *store, size_t size, const char *path,
		    struct log_error *err);

#endif
