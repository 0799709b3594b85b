/* A merge while it is under way; shared by merge*.c. */
#ifndef IOLENS_MERGING_H
#define IOLENS_MERGING_H

#include "index.h"
#include "merge.h"

/* One of the logs. */
struct merge_part {
	const char *path;
	size_t given; /* its place among them */
	size_t run;
	int64_t uid, id, nprocs;
	int64_t begin, end; /* ns since 1970 */
	double shift;       /* s: where its time 0 is in the merged log */
	bool precise;       /* it began at a known nanosecond */
	bool whole;         /* its process table has all its ranks */
	bool merged;        /* it says what it was merged of */
	size_t interval;    /* that it begins in */
	uint64_t modules, partial;
	uint64_t source;  /* the log that it is a part of, 0 = none known */
	uint64_t command; /* hash of exe */
	char *exe, *metadata;
};

struct merge_run {
	size_t first; /* part that it began with, while runs are being found */
	size_t parts;
	int64_t nprocs, rank; /* of its rank 0 in the merged log */
	int64_t begin, end;
	struct index keys; /* its records by module, id and rank, where that matters */
	size_t *owner;     /* by number of the key: part that had it first, as given */
	bool keys_known;
};

struct merge_interval {
	int64_t begin, end; /* ns since 1970 */
	int64_t at;         /* ns, in the merged log */
	bool merged;        /* one of its parts is a merged log */
};

struct merge_key {
	uint64_t key;
	bool of_rank; /* not of a record */
};

struct merging {
	struct merge *options;
	struct log_writer *writer;
	struct log_error *err;
	struct merge_part *parts; /* in order of runs, then as given */
	size_t nparts;
	struct merge_run *runs;
	size_t nruns;
	struct merge_interval *intervals;
	size_t nintervals;
	int64_t nprocs;
	int64_t length; /* ns */
	struct trailer_section uncounted;
	struct merge_key *keys; /* of one part at a time */
	size_t nkeys, keys_part;
	bool keys_known;
	bool shifted; /* some part begins later than the merged log */
};

/* Opens the part's log; an error is about it. */
int merging_open(struct merging *g, const struct merge_part *p, struct log **log);

/* Reads what is needed of every log and decides which ranks and times it gets. */
int merge_plan(struct merging *g, const char *const *paths, size_t n);
void merge_forget(struct merging *g);

/* Has an earlier part of the same run got the record? */
bool merge_repeats(const struct merging *g, const struct merge_part *p, int module, const struct log_record *r);

/* All records of a module. */
int merge_module(struct merging *g, int module);

/* The record in `copy`, of the merged log's ranks and times. */
void merge_place(const struct merging *g, const struct merge_part *p, const struct schema_module *m, uint8_t *copy);

/* ---- heat maps: all records of a log have the same bins ---- */

struct merge_heat {
	bool same; /* they have that already */
	int64_t bins;
	double width; /* s */
};

/* Sees what all parts have. */
int merge_heat_plan(struct merging *g, struct merge_heat *h);
/* The record in the bins of the merged log; out has room for MERGE_HEAT bytes. Returns its size. */
size_t merge_heat_record(const struct merge_heat *h, const struct log_record *r, double shift, uint8_t *out);

/* ---- the record that a region begins with ---- */

enum { MERGE_HEAD_FIELDS = 16 };

/* Of the counters whose variance it has. */
struct merge_head {
	int64_t records;
	double mean[MERGE_HEAD_FIELDS], deviation[MERGE_HEAD_FIELDS];
};

void merge_head_see(struct merge_head *h, const struct log_record *r);
/* The variances over all records that were seen. */
void merge_head_set(const struct merge_head *h, const struct schema_module *m, uint8_t *header);

/* ---- what was merged ---- */

struct merge_origins {
	struct trailer_section parts, intervals;
	size_t run, interval;        /* of the part that was added last */
	int64_t first_run, next_run; /* numbers of what that run consists of */
};

int merge_origins_begin(struct merge_origins *o);
void merge_origins_free(struct merge_origins *o);
/* The parts come run by run. */
int merge_origins_add(struct merge_origins *o, const struct merging *g, const struct merge_part *p,
		      struct trailer *trailer);
int merge_origins_write(struct merge_origins *o, const struct merging *g);

/* Calls each with the command lines of a log: those of its parts, or exe. */
int merge_commands(struct merging *g, struct log *log, const char *exe,
		   int (*each)(void *context, const char *command, size_t length), void *context);

enum { MERGE_RECORD = 81920 /* no record of a log is longer */ };

int merge_trailer(struct merging *g);

#endif
