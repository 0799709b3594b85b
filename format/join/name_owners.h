/*
 * Which place writes a name that several have: the first one that has it. What places tell each other of that is a sketch, which
 * stays small in a job of any size: the smallest ids of all, as many as there is room for. An id that is among the smallest of
 * all places is so at each that has it and on the way, so what is known of it is exact. One that is not among them has no
 * owner: each place that has it writes its name.
 */
#ifndef IOLENS_NAME_OWNERS_H
#define IOLENS_NAME_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc.h"

enum { NAME_OWNERS_MAX = 8192 };

struct name_owner {
	uint64_t id;
	uint32_t place;   /* the first one */
	uint32_t several; /* others have it, too */
};

/* In order of ids, each once; but for what was added since name_owners_settle. */
struct name_owners {
	struct log_bytes entries;
	size_t settled; /* so many of them are */
};

/* One that `place` has, as often as it likes. 0 or LOG_E_MEMORY. */
int name_owners_add(struct name_owners *o, uint64_t id, int64_t place);
void name_owners_settle(struct name_owners *o);

/* So many as are settled. */
const struct name_owner *name_owners(const struct name_owners *o);

/* Of another place, settled there: into an empty one. False: that is not `n` of them, or there is no memory. */
bool name_owners_read(struct name_owners *o, uint64_t n, const void *from, size_t bytes);

/* Both settled. 0 or LOG_E_MEMORY. */
int name_owners_merge(struct name_owners *o, const struct name_owners *other);

/* Leaves those only that several places have. */
void name_owners_keep_several(struct name_owners *o);

void name_owners_free(struct name_owners *o);

#endif
