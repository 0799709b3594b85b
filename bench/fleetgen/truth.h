/* What is beside the logs: accounting as sacct prints it, and what the generator knows. */
#ifndef FLEETGEN_TRUTH_H
#define FLEETGEN_TRUTH_H

#include "job_log.h"
#include "population.h"

/* Each returns 0, or -1 and a message to stderr. `outcomes`: of all logs, in order of their jobs. */
int truth_accounting(const char *path, const struct population *p);
int truth_logs(const char *path, const struct population *p, const struct outcome *outcomes);
int truth_json(const char *path, const struct population *p, const struct outcome *outcomes);

#endif
