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
};

/* The library, its settings, the directories, this node. First. */
void doctor_installation(struct doctor *d);

/* Whether a command could be observed; it is not run. */
void doctor_program(struct doctor *d, const char *command);

/* What there is of the scheduler's job. */
void doctor_job(struct doctor *d, int64_t job);

#endif
