/*
 * What the calls of the made-up library do to the record of an object. The functions return at once for an empty span, and
 * keep errno. A name is looked at only after the library has accepted it.
 */
#ifndef IOLENS_TEMPLATE_RECORD_H
#define IOLENS_TEMPLATE_RECORD_H

#include <stdint.h>

#include "fds.h"

/* moved: bytes, negative = refused. */
void template_on_access(struct span s, enum io_op op, const char *name, int64_t moved);
void template_on_sync(struct span s, const char *name, int result);

#endif
