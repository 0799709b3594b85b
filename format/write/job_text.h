/* The job region of a log that is written. */
#ifndef IOLENS_JOB_TEXT_H
#define IOLENS_JOB_TEXT_H

#include "writer.h"

/* Fills `out`, CONTAINER_JOB_MAX bytes of zeros, and returns how many it takes. */
size_t job_text(char *out, const struct log_job_text *j);

#endif
