/*
 * Who runs what, when: users, their applications and their jobs, before any log is written.
 *
 * Numbers that papers give are in population.c with where they stand; what they do not give is an assumption, and is said
 * to be one.
 */
#ifndef FLEETGEN_POPULATION_H
#define FLEETGEN_POPULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DAY = 86400 };

enum pattern {
	CHECKPOINT_COLLECTIVE, /* MPI-IO, all ranks into one file */
	CHECKPOINT_OWN,        /* a file per process */
	CHECKPOINT_HDF5,
	CHEMISTRY, /* input decks, text output, scratch files */
	SERIAL,    /* one process after a run */
	TRAINING,  /* many files, read in small pieces */
	SEARCH,    /* a database, read again and again */
	QUIET,     /* hardly any I/O */
};

/* What screening is to find. */
enum pathology {
	REDUNDANT_READS = 1,
	METADATA = 2,
	SMALL_WRITES = 4,   /* 10^8 and more */
	NOTICED_WRITES = 8, /* 10^6 to 10^8 */
};

enum state { COMPLETED, FAILED, TIMEOUT, CANCELLED, OUT_OF_MEMORY, NODE_FAIL, STATES };
extern const char *const state_names[STATES];

struct application {
	const char *program; /* as the log's file name has it */
	const char *command; /* as it was called */
	enum pattern pattern;
	double popularity;
	bool precompiled; /* no user links it again, so that it is never observed */
};
extern const struct application applications[];
extern const size_t napplications;

struct user {
	char name[9];
	int64_t uid;
	int account;
	int nprograms;
	int program[4];     /* indexes of applications */
	int64_t linked[4];  /* when it was linked with the library; INT64_MAX = never */
	double heard_until; /* sum of the weights of all users to this one */
};

struct job {
	int64_t start, run; /* s */
	uint64_t number;    /* of the drawing: seeds what is drawn for it later */
	int64_t id;
	int64_t array; /* id of its array, 0 = none */
	int user, application;
	int nprocs;
	int logs;      /* logs that it left */
	int first_log; /* place of the first among all logs */
	unsigned char state, pathology;
	bool linked;  /* ran with the library */
	bool outside; /* not under the scheduler: no line of accounting */
	bool example; /* the job that a paper tells of */
};

struct wanted {
	int64_t logs, users, days;
	int64_t screened; /* so many times as many jobs as on Hopper for the screens to find */
	int64_t start;    /* s since 1970, midnight */
	uint64_t seed;
};

struct population {
	struct wanted wanted;
	struct user *users;
	struct job *jobs; /* in order of time */
	size_t njobs;
	int accounts;
};

void population_draw(struct population *p, const struct wanted *wanted);
void population_free(struct population *p);

#endif
