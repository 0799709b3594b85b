/*
 * What is running, job by job: stores of one session, of one MPI_COMM_WORLD (wherever its ranks were started from) or of one
 * process without either belong together. Rates are differences of two looks.
 */
#ifndef IOLENS_LIVE_JOB_H
#define IOLENS_LIVE_JOB_H

#include "live_look.h"

struct live_process {
	const struct live_store *store, *before; /* in this look and in the one before; NULL = it was not there */
	struct live_counts counts, since; /* of the interfaces that reach the operating system; since the look before */
};

/* Its numbers are those of the lowest layer: of files that only MPI-IO saw, MPI-IO's. */
struct live_file {
	uint64_t id;
	const char *name, *file_system;
	uint32_t interfaces; /* a bit for each slot */
	int64_t size;
	int processes;
	struct live_counts counts, since;
};

struct live_interface {
	int64_t files; /* records: a file once for each process */
	struct live_counts counts, since;
};

struct live_operation {
	int64_t count, errors, since;
	double time; /* s */
};

struct live_job {
	char name[40];     /* of the session; MPI jobs and processes without one: a number */
	char session[600]; /* directory of the first store */
	int64_t id;        /* the scheduler's number, or that of a process */
	uid_t owner;
	const char *command;
	double started, run_time; /* s since 1970; s until its latest sign of life */
	size_t running, ended, ranks, hosts;
	struct live_process *processes; /* in order of ranks, then of their starts */
	size_t nprocesses;
	struct live_file *files; /* in order of ids */
	size_t nfiles;
	struct live_interface interface[WRITTEN_COUNT];
	struct live_operation operation[STATE_OP_COUNT];
	struct state_class class[STATE_CLASS_COUNT];
	int64_t sizes[2][STATE_SIZES];
	struct state_heat heat;           /* from `started` on */
	struct live_counts counts, since; /* sums over processes */
};

struct live {
	struct live_job *jobs; /* the latest first */
	size_t n;
	double interval;               /* s between the looks; 0 = there is but one */
	const struct live_node *nodes; /* that were asked; none = this one alone */
	size_t nnodes;
};

/*
 * `before`: NULL = none. Of several nodes, all that has the wanted number of the scheduler's is one job: each node has a session
 * of its own. `wanted`: a job, session (name or directory) or process; NULL = all.
 * The looks must outlive it.
 */
int live_make(struct live *l, const struct live_look *now, const struct live_look *before,
	      const struct live_names *names, const char *wanted, struct log_error *err);
void live_free(struct live *l);

/* Does the interface know files, so that its records are files here? */
bool live_has_files(int slot);

/* What a process did to the file of its n-th record since the look before. */
struct live_counts live_record_since(const struct live_process *p, int slot, size_t n);

/* Bytes, operations and share of the time in I/O of a stretch; per second. */
double live_rate(const struct live *l, int64_t n);
int64_t live_operations(const struct live_counts *c);
double live_time(const struct live_counts *c);

/* "posix, mpiio" of a file. */
void live_interfaces(uint32_t interfaces, char *text, size_t room);

#endif
