/* What a job's time goes into where it is not I/O: processors, page faults, the start of processes, waiting. */
#ifndef IOLENS_USED_H
#define IOLENS_USED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trailer.h"

enum { USED_PROGRAMS = 64, USED_NAME = 32, USED_TEXT = 160 };

struct used_program {
	char name[USED_NAME];
	double processor; /* s */
};

struct digest_used {
	int64_t processes; /* of which it is known */
	int64_t unknown;   /* and those of which it is not */
	double processor;  /* s, of all */
	int64_t faults;    /* pages that a process waited for until they came from storage */
	double fault_time; /* s, estimated */
	double cpus;       /* that the job could use, 0 = not known */
	size_t nprograms;
	struct used_program program[USED_PROGRAMS];
};

/* A row of the table of processes. */
void used_add(struct digest_used *u, const struct trailer_table *t, uint64_t row);

/* The processors of each node. */
void used_read_platform(struct digest_used *u, const struct trailer_table *t);

struct digest;

/* "the processor, busy for 94 % of the run, most of it in cc1": "" where it is not known. Safe for a terminal. */
void used_describe(const struct digest *d, double run_time, double io_time, char text[USED_TEXT]);

#endif
