/* What an open log consists of, for the files that read its regions. */
#ifndef IOLENS_READER_H
#define IOLENS_READER_H

#include "alloc.h"
#include "container.h"
#include "region.h"

/* Fills log->container.accesses of a log that is not an older one; NULL = these are not looked for. */
extern void (*log_find_accesses)(struct log *log);

struct name_entry {
	uint64_t id;
	const char *text;
};

/* What only a log of 1.x or 2.x has. */
struct log_old {
	int version;     /* 2.06 = 206 */
	size_t job_size; /* bytes before the first record */
	struct log_old_mount *mounts;
	size_t nmounts;
};

struct log_missing;

/* Opens what container_read gave LOG_E_OLD for: the container, job and names of `log`, whose source is open. NULL: declined. */
extern int (*log_open_older)(struct log *log, struct log_error *err);

/* Takes the descriptor over; one that is negative is an error, of errno. */
int log_open_descriptor(struct log **out, int fd, struct log_error *err);

struct log {
	struct source source;
	struct log_container container;
	uint64_t spare; /* the reader's budget: budget.h */

	struct log_job job;
	bool job_read;
	struct log_pair *job_pairs;
	char job_text[CONTAINER_JOB_MAX + 2];

	struct log_old *old; /* NULL = a 3.x log */

	struct log_bytes names_text;
	struct name_entry *names; /* sorted by id */
	size_t nnames;
	bool names_read;
	struct log_error names_error;
	struct log_missing *missing; /* NULL = nothing, or not read yet */
	bool missing_read;
};

/* ---- names.c ---- */

/* Every entry in the order of the log, until `see` returns a negative code; afterwards the names are not sorted. */
int names_walk(struct log *log, int (*see)(void *context, uint64_t id, const char *name), void *context,
	       struct log_error *err);

/* ---- job.c: texts of the job record, which they cut into pieces ---- */

/* Cuts the next line off *text; NULL at the end. */
char *job_next_line(char **text);
/* Lines with a separator, cut at the first one. */
size_t job_split_lines(char *text, char separator, struct log_pair *out);
/* By descending length of the mount point; equal ones stay in order. */
void job_sort_mounts(struct log_pair *m, size_t n);

#endif
