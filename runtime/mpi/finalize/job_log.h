/* The log of an MPI job out of stores that this rank can read. */
#ifndef IOLENS_MPI_JOB_LOG_H
#define IOLENS_MPI_JOB_LOG_H

#include <stdbool.h>

#include "assemble.h"

/* What the log is to be called. */
void job_log_name(char *path, size_t room);

/* Lines to the user. */
void job_log_failed(const char *path, const struct log_error *err);
void job_log_incomplete(const char *path);
/* Ranks did not come: for one rank to say. */
void job_log_not_all(void);
/* The log will not be written in time: its bytes, how many go out per second, and how many seconds the rest takes. */
void job_log_late(uint64_t log, double speed, double left);

/* Writes it; false when it could not be, or not of all stores. The packs were made against the first store, its own against the second. */
bool job_log_write(const char *const *stores, size_t n, const struct assemble_phase *phases, size_t nphases,
		   uint64_t deadline);

/* Removes the packs next to the stores and, once a log has their data, the stores and their directory. */
void job_log_settle(const char *const *stores, size_t n, bool done);

/* Both; false when the stores had to be kept. */
bool job_log(const char *const *stores, size_t n, const struct assemble_phase *phases, size_t nphases,
	     uint64_t deadline);

#endif
