/* The log of an MPI job out of stores that this rank can read. */
#ifndef IOLENS_MPI_JOB_LOG_H
#define IOLENS_MPI_JOB_LOG_H

#include <stdbool.h>

#include "assemble.h"

/* What the log is to be called. */
void job_log_name(char *path, size_t room);

/* Writes it; false, with a line to the user, when that failed. */
bool job_log_write(const char *path, const char *const *stores, size_t n, const struct assemble_phase *phases,
		   size_t nphases, uint64_t deadline);

/* Writes it and removes the stores, and the packs beside them (made against the first store); false when they had to be kept. */
bool job_log(const char *const *stores, size_t n, const struct assemble_phase *phases, size_t nphases,
	     uint64_t deadline);

#endif
