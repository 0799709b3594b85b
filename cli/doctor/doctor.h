/* What iolens doctor looks at. */
#ifndef IOLENS_DOCTOR_H
#define IOLENS_DOCTOR_H

#include <stdint.h>

#include "checks.h"

enum { DOCTOR_PATH = 4096 };

struct doctor {
	struct checks checks;
	char library[DOCTOR_PATH]; /* "" = not found */
	char logs[DOCTOR_PATH];    /* the setting LOGPATH; "" = not set */
	char stores[DOCTOR_PATH];  /* TMPDIR */
	bool all;                  /* programs without MPI are observed, too */
	bool group_readable;       /* logs are, by the configuration file */
};

/* The library, its settings, the directories, this node. First. */
void doctor_installation(struct doctor *d);

/* Whether a command could be observed; it is not run. */
void doctor_program(struct doctor *d, const char *command);

/* The name of a library: if it is an MPI's, HDF5's or PnetCDF's, what iolens has for it. */
void doctor_library(struct doctor *d, const char *as, const char *name);

/* What a site has installed on this node: for those who look after it. */
void doctor_site(struct doctor *d);
void doctor_slurm(struct doctor *d);

/*
 * Whether other nodes have the same command and library. `list`: names with commas between; `through`: a command of the shell that
 * runs what follows it on the node %h, or whose name is put behind it.
 */
void doctor_nodes(struct doctor *d, const char *list, const char *through);

/* What there is of the scheduler's job. */
void doctor_job(struct doctor *d, int64_t job);

#endif
