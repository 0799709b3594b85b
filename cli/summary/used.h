/* What a job's time goes into where it is not I/O: processors, page faults, the start of processes, waiting. */
#ifndef IOLENS_USED_H
#define IOLENS_USED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trailer.h"

enum { USED_PROGRAMS = 64, USED_NAME = 32 };

struct used_program {
	char name[USED_NAME];
	double processor;  /* s */
	int64_t processes; /* 0 = not known */
};

struct digest_used {
	int64_t processes; /* of which it is known */
	int64_t unknown;   /* and those of which it is not */
	double processor;  /* s, of all */
	double system;     /* of it, in the kernel */
	double brief;      /* of it, of processes that used little */
	bool has_rest;     /* what is not known of each is in it, too: */
	double rest;
	int64_t faults; /* pages that a process waited for until they came from storage */
	int64_t fault_bytes;
	double fault_time; /* s, estimated; of processes that wait at the same time it counts once */
	double delay;      /* likewise s that threads waited for a processor, */
	double queued;     /* and did so in calls: not in the time in I/O */
	int64_t undelayed; /* processes whose threads had ended when that could be asked */
	double most_io;    /* s in I/O of the process that is longest in it */
	double computing;  /* for so much of its life that process used a processor: 1 = always, more = by threads */
	double cpus;       /* that the job could use, 0 = not known */
	size_t nprograms;
	struct used_program program[USED_PROGRAMS];
};

/* What tells how long a process waited for pages from storage. */
struct used_faults {
	bool known;
	double start, end;          /* s; it starts where the image before it became this one */
	double processor, io, read; /* s, in I/O and of it reading */
	double delay;               /* s that it waited for a processor, */
	double in_io;               /* and of them in calls, at least */
	double user;                /* of the processor */
	bool single;                /* it had one thread */
	int64_t faults, waits;
	int64_t storage; /* bytes from storage */
	int64_t seen;    /* bytes that it read by calls */
	double paged;    /* s that it waited for pages, when they are added */
};

/* How long storage took in processes that waited for little else, and in calls that read from it. */
struct used_storage {
	int64_t bytes, waits, read;
	double time, read_time; /* s */
};

/* A row of the table of processes. */
void used_add(struct digest_used *u, const struct trailer_table *t, uint64_t row, struct used_faults *faults);

/* Finds `in_io`, when `start` is where it began. */
void used_find_queue(struct used_faults *f);

/* What its waits tell of storage, when `storage` has nothing of its children any more: of all processes, before the next. */
void used_measure(struct used_storage *s, const struct used_faults *f);
void used_add_faults(struct digest_used *u, const struct used_storage *s, struct used_faults *f);

/* The run is held up where one process waits or several: the next in order of their starts. */
struct used_waits {
	double paged_until, delayed_until; /* s */
};

void used_add_waits(struct digest_used *u, struct used_waits *w, const struct used_faults *f);

/* s in programs that were not observed, and in processes whose end was not: all there is besides. */
void used_add_rest(struct digest_used *u, double processor);

/* The processors of each node. */
void used_read_platform(struct digest_used *u, const struct trailer_table *t);

#endif
