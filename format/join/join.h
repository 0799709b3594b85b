/*
 * One log out of stores that lie in several places, none of which can read them all: each place makes its share of the log,
 * the first one joins them. What a place tells another is bytes; how they travel is not decided here.
 *
 *	every place: join_open
 *	             join_survey_add	surveys of others, which are sent the same way
 *	             join_survey	-> to another place
 *	the first:   join_begin		with all surveys: makes the log's file
 *	             join_decide	-> to all
 *	every place: join_make		what was decided: its share is in memory now
 *	             join_share_add	shares of others, in order of places: all but the regions
 *	             join_share		-> to another place
 *	the first:   join_lay_out	with all shares: writes what is the job's, and leaves room for the regions
 *	every place: join_region	its bytes, to be written from where its predecessors' end
 *	the first:   join_finish	after the last byte of the others
 *	every place: join_close
 *
 * Return 0 or a negative code; join_error tells.
 */
#ifndef IOLENS_JOIN_H
#define IOLENS_JOIN_H

#include "alloc.h"
#include "assemble.h"
#include "written.h"

struct join;

/*
 * A place that has so many bytes of the ranks' rows encodes them: the first place would need seconds for those of 100,000 ranks. Smaller
 * parts would make the log larger: each has texts of its own.
 */
enum { JOIN_PART = 1 << 20 };

struct join_node {
	int64_t number; /* in order of their first ranks; 0 = the first place */
	int64_t nprocs; /* of the job */
	const int64_t *ranks;
	size_t nranks; /* that are at home here, in order */
	const char *const *stores;
	size_t nstores;
	size_t part; /* instead of JOIN_PART; 0 = that */
};

/* Parts of the log to which every place has something. */
enum join_region {
	JOIN_NAMES,
	JOIN_RECORDS,                               /* by slot */
	JOIN_TRACES = JOIN_RECORDS + WRITTEN_COUNT, /* by enum trace_interface */
	JOIN_COMMUNICATION = JOIN_TRACES + TRACE_COUNT,
	JOIN_HEATMAP,
	JOIN_ACCESSES, /* by enum trace_interface */
	JOIN_REGIONS = JOIN_ACCESSES + TRACE_COUNT
};

/* The file of the log, while others may write to it: what tells it from any other of that name. */
struct join_file {
	uint64_t inode;
	int64_t changed; /* ns since 1970 */
	char path[4096];
};

/* What all places together have found. */
struct join_found {
	int64_t stores, lost; /* read, unreadable */
	bool failed;          /* some place cannot take part */
	char why[160];
};

/*
 * `job` and what `place` points to must stay; the phases are looked at by join_finish. *out is there even after an error, of
 * which the others must learn: NULL means that there is no memory.
 */
int join_open(struct join **out, const struct assemble_job *job, const struct join_node *place);
void join_close(struct join *j);
const struct log_error *join_error(const struct join *j);

/* This place cannot take part: others learn it from the next that it tells. */
void join_fail(struct join *j, const char *why);

int join_survey_add(struct join *j, const void *survey, size_t n);
int join_survey(struct join *j, struct log_bytes *out);
struct join_found join_found(const struct join *j);

int join_begin(struct join *j, const char *path, struct join_file *file);
int join_decide(struct join *j, struct log_bytes *out);

int join_make(struct join *j, const void *decision, size_t n);
int join_share_add(struct join *j, const void *share, size_t n);
int join_share(struct join *j, struct log_bytes *out);

/* Bytes of the regions of this place and of those that were added. */
const uint64_t *join_sizes(const struct join *j);
/* Of this place alone. */
const void *join_region(const struct join *j, enum join_region region, size_t *size);

/* at: where in the file the regions of the places begin. */
int join_lay_out(struct join *j, uint64_t at[JOIN_REGIONS]);
int join_finish(struct join *j);
/* Removes the unfinished log; the memory of the regions stays. */
void join_give_up(struct join *j);

#endif
