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
	double processor; /* s */
};

struct digest_used {
	int64_t processes; /* of which it is known */
	int64_t unknown;   /* and those of which it is not */
	double processor;  /* s, of all */
	int64_t faults;    /* pages that a process waited for until they came from storage */
	int64_t fault_bytes;
	double fault_time; /* s, estimated */
	double delay;      /* s that first threads waited for a processor */
	double cpus;       /* that the job could use, 0 = not known */
	size_t nprograms;
	struct used_program program[USED_PROGRAMS];
};

/* What tells how long a process waited for pages from storage. */
struct used_faults {
	double idle; /* s that it neither ran nor was in I/O */
	int64_t faults, waits;
	int64_t bytes; /* from storage, without what it read by calls */
};

/* A row of the table of processes. */
void used_add(struct digest_used *u, const struct trailer_table *t, uint64_t row, struct used_faults *faults);

/* Its faults, when `bytes` has nothing of its children any more. */
void used_add_faults(struct digest_used *u, const struct used_faults *faults);

/* The processors of each node. */
void used_read_platform(struct digest_used *u, const struct trailer_table *t);

#endif
