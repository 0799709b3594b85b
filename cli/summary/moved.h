/* What moved, by its way: for commands beside the run's summary. */
#ifndef IOLENS_MOVED_H
#define IOLENS_MOVED_H

#include <stdio.h>

#include "digest.h"
#include "json.h"

/* Both write nothing of a log without a table of processes. */
void moved_print(FILE *out, const struct digest *d);
void moved_json(struct json *j, const struct digest *d);

/* One line on files without a record of their own; the same where there are any, or where records are missing. */
void moved_print_folded(FILE *out, const struct digest *d);
void moved_print_missing(FILE *out, const struct digest *d);

#endif
