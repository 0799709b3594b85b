/* What iolens doctor looks at. */
#ifndef IOLENS_DOCTOR_H
#define IOLENS_DOCTOR_H

#include <stdint.h>

#include "checks.h"

enum { DOCTOR_PATH = 4096, DOCTOR_PLACES = 8 };

/* A directory of logs. */
struct log_place {
	enum { PLACE_LOGS, PLACE_SPOOL, PLACE_AREA } kind; /* AREA: of logs that iolens collect took out of the SPOOL */
	char path[DOCTOR_PATH];
};

struct doctor {
	struct checks checks;
	char library[DOCTOR_PATH]; /* "" = not found */
	char logs[DOCTOR_PATH];    /* the setting LOGPATH; "" = not set */
	char stores[DOCTOR_PATH];  /* TMPDIR */
	bool all;                  /* programs without MPI are observed, too */
	bool group_readable;       /* logs are, by the configuration file */
	struct log_place places[DOCTOR_PLACES];
	size_t n_places;
};

/* The library, its settings, the directories, this node. First. */
void doctor_installation(struct doctor *d);

/* Whether a command could be observed; it is not run. */
void doctor_program(struct doctor *d, const char *command);

/* The name of a library: if it is an MPI's, HDF5's or PnetCDF's, what iolens has for it. */
void doctor_library(struct doctor *d, const char *as, const char *name);

/* The directories of logs: what Slurm's files, module files and the collector's settings name, and the setting. */
void doctor_places(struct doctor *d);
void doctor_add_place(struct doctor *d, const char *path, int kind);
void doctor_slurm_places(struct doctor *d);

/* What a site has installed on this node: for administrators. */
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
