/* Interfaces of a job that are not in its log: of an MPI without a backend, and of libraries linked into the program. */
#ifndef IOLENS_UNRECORDED_H
#define IOLENS_UNRECORDED_H

#include <stddef.h>

#include "digest.h"
#include "json.h"

enum { UNRECORDED_TEXT = 768 };

/* A sentence for a terminal: what is not recorded, and what to do. */
void unrecorded_describe(const struct digest_unrecorded *u, char text[UNRECORDED_TEXT]);

void unrecorded_read(struct digest *d, struct trailer *trailer, const struct trailer_table *t);

/* As member "unrecorded"; nothing where there is none. */
void unrecorded_json(struct json *j, const struct digest *d);

#endif
