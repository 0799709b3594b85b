/* A merge while it is under way; shared by merge*.c. */
#ifndef IOLENS_MERGING_H
#define IOLENS_MERGING_H

#include "index.h"
#include "merge.h"

/* An id that stands for another name in an earlier log. */
struct merge_moved {
	uint64_t from, to;
};

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
	bool sites;         /* and where its files were opened */
	bool jobless;       /* its job record is damaged: ranks and duration are what its records tell */
	size_t interval;    /* that it begins in */
	uint64_t modules, partial;
	uint64_t accesses; /* modules whose accesses are in the trailer */
	uint64_t source;   /* the log that it is a part of, 0 = none known */
	char *exe, *metadata;
	struct merge_moved *moved; /* in order of `from` */
	size_t nmoved;
};

struct merge_run {
	size_t first; /* part that it began with, while runs are being found */
	size_t parts;
	int64_t nprocs, rank; /* of its rank 0 in the merged log */
	int64_t begin, end;
	struct text_index keys; /* its records, and ranks */
	size_t *owner;          /* by number of the key: part that had it first, as given */
	bool keys_known;
};

struct merge_interval {
	int64_t begin, end; /* ns since 1970 */
	int64_t at;         /* ns, in the merged log */
	bool merged;        /* one of its parts is a merged log */
};

struct merge_key {
	int64_t module; /* MERGE_RANK: not a record: the rank is in use */
	uint64_t id;
	int64_t rank;
};

enum { MERGE_RANK = -1 };

/* Of the merged log. */
struct merge_names {
	struct index ids;
	struct merge_name {
		uint64_t id;
		size_t text; /* where in `texts` */
	} * names;           /* by number of the id */
	struct log_bytes texts;
};

struct merging {
	struct merge *options;
	struct log_writer *writer;
	struct log_error *err;
	struct merge_part *parts; /* in order of runs, then as given */
	size_t nparts, ngiven;    /* known so far, and in all */
	const char *step;         /* what logs are opened for */
	struct merge_run *runs;
	size_t nruns;
	struct merge_interval *intervals;
	size_t nintervals;
	int64_t nprocs;
	int64_t length; /* ns */
	struct merge_names names;
	struct trailer_section missing;
	struct merge_sites *sites; /* NULL = no log tells */
	struct merge_key *keys;    /* of one part at a time */
	size_t nkeys, keys_part;
	bool keys_known;
	bool shifted; /* some part begins later than the merged log */
};

/* Opens the part's log; an error is about it. */
int merging_open(struct merging *g, const struct merge_part *p, struct log **log);

/* Reads what is needed of every log and decides which ranks and times it gets. */
int merge_plan(struct merging *g, const char *const *paths, size_t n);
void merge_forget(struct merging *g);

/* Reads the names of all logs, and finds the ids that are to be others in the merged one. */
int merge_names_read(struct merging *g);
int merge_names_write(struct merging *g);
void merge_names_forget(struct merge_names *n);

/* What an id of the part's log is in the merged one. */
uint64_t merge_id(const struct merge_part *p, uint64_t id);

/* Has an earlier part of the same run got the record? Its id is that of the merged log. */
bool merge_repeats(const struct merging *g, const struct merge_part *p, int module, const struct log_record *r);

/* All records of a module. */
int merge_module(struct merging *g, int module);
/* What a module of traces has behind the regions, when all parts that have it have it there. */
int merge_accesses(struct merging *g, int module);

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

/* ---- where files were opened ---- */

int merge_sites_begin(struct merging *g);
void merge_sites_forget(struct merging *g);
/* Of the part whose records come next. */
int merge_sites_open(struct merging *g, struct log *log);
void merge_sites_close(struct merging *g);
/* A record with the id that it has in the merged log, and the one that it has in its own. */
int merge_sites_add(struct merging *g, const struct merge_part *p, int module, const struct log_record *r, uint64_t id);
int merge_sites_write(struct merging *g);

enum { MERGE_RECORD = 81920 /* no record of a log is longer */ };

int merge_trailer(struct merging *g);

#endif
