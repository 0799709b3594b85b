/* Jobs for programs: the text form of OpenMetrics, as a node exporter takes it from a file. */
#ifndef IOLENS_LIVE_METRICS_H
#define IOLENS_LIVE_METRICS_H

#include <stdio.h>

#include "live_job.h"

void live_metrics(FILE *out, const struct live *l);

#endif
