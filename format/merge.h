/*
 * Several logs as one: those of the processes, nodes or steps of a job, parts of a log, or different jobs.
 *
 * Logs are put into runs. A run is one set of ranks: one log, or several that are parts of the same (they say so in their
 * trailers, or have ranks of their own in the same job at the same time). The ranks of a run follow those of the run that began
 * before it.
 *
 * Time: the merged log has the time in which something ran. Where the runs leave a gap, it is taken out, and what came after
 * it moves up; sections "part" and "interval" of the trailer hold what was when.
 */
#ifndef IOLENS_MERGE_H
#define IOLENS_MERGE_H

#include "writer.h"

enum merge_ranks {
	MERGE_RANKS_FOUND, /* as above */
	MERGE_RANKS_KEPT,  /* all logs are of one run */
	MERGE_RANKS_NEW,   /* every log is a run */
};

struct merge {
	enum merge_ranks ranks;
	bool reduce_shared; /* a file that all processes used: one record of rank -1 */
	bool keep_gaps;     /* times as on the clock */
	bool drop_trailer;
	int64_t end; /* s since 1970, of logs that have no end; 0 = the latest time in their records */
	enum log_compression compression;
	/* Called before each log: what it is read for, a constant, and which one of how many it is, from 0. May be NULL. */
	void (*reads)(const char *step, size_t log, size_t logs);
	/* Out. */
	size_t parts, runs, intervals;
	int64_t nprocs;
	double seconds;                 /* run time of the merged log */
	size_t renamed;                 /* files that got another id: theirs was another file's in an earlier log */
	uint64_t left_out;              /* bit per module that this version does not decode */
	size_t jobless;                 /* logs whose job record is damaged: their records are kept */
	const char *jobless_path;       /* the first of them */
	struct log_error jobless_error; /* what is wrong with it */
	const char *offender;           /* path that an error is about; NULL = the new log */
};

/* Writes everything into `w`, which the caller finishes. 0 or a negative code. */
int merge_logs(struct merge *m, const char *const *paths, size_t n, struct log_writer *w, struct log_error *err);

#endif
