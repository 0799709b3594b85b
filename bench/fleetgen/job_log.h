/* One log of a job: what its files were used for, written with the log library. */
#ifndef FLEETGEN_JOB_LOG_H
#define FLEETGEN_JOB_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "population.h"

/* What a log says, by the definitions of the screening metrics. */
struct outcome {
	int64_t bytes_read, bytes_written;
	int64_t redundant;         /* bytes read more than once */
	int64_t small_writes;      /* below 1 MiB, into shared files without collective calls */
	double meta_time, io_time; /* MPI-IO's where it was used, else POSIX's; s, summed over ranks */
	int64_t nprocs;
	int64_t size; /* of the log, bytes */
	int records, user;
	size_t job;
	unsigned char pathology; /* of enum pathology, by what the records say */
	unsigned char damaged;
};

enum { PATH_ROOM = 400 };

/* Where the n-th log of a job is, relative to the folder of logs. */
void job_log_path(char out[PATH_ROOM], const struct population *p, const struct job *j, int n);
/* Start and end of what it is about, s since 1970. */
void job_log_times(const struct job *j, int n, int64_t *start, int64_t *end);
/* Writes it; 0, or -1 and a message to stderr. `files` is the mean number of files, `most` the largest. */
int job_log_write(const char *path, const struct population *p, const struct job *j, int n, double files, int most,
		  struct outcome *out);

#endif
