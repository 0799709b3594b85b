/* Jobs for programs: JSON (schema "top"), and the text form of OpenMetrics as a node exporter takes it from a file. */
#ifndef IOLENS_LIVE_JSON_H
#define IOLENS_LIVE_JSON_H

#include <stdio.h>

#include "json.h"
#include "live_job.h"

void live_json(struct json *j, const struct live *l, const struct live_look *look);

void live_metrics(FILE *out, const struct live *l);

#endif
