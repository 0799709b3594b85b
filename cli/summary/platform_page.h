/* What a log says of the machine that its job ran on. */
#ifndef IOLENS_CLI_PLATFORM_PAGE_H
#define IOLENS_CLI_PLATFORM_PAGE_H

#include <stdio.h>

#include "json.h"
#include "trailer.h"

/* Nothing where the log says nothing; negative: the tables cannot be read. */
int platform_print(FILE *out, struct trailer *t, struct log_error *err);
int platform_json(struct json *out, struct trailer *t, struct log_error *err);

#endif
