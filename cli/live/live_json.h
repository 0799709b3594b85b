/* Jobs for programs: JSON (schema "top"). */
#ifndef IOLENS_LIVE_JSON_H
#define IOLENS_LIVE_JSON_H

#include "json.h"
#include "live_job.h"

void live_json(struct json *j, const struct live *l, const struct live_look *look);

#endif
