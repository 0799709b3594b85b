/*
 * Files that every rank of an MPI job used, one module at a time: the records of all ranks become one. Ranks are added in
 * order; what the first rank does not have, or a later one lacks, is not shared.
 */
#ifndef IOLENS_SHARED_H
#define IOLENS_SHARED_H

#include <stdbool.h>

#include "error.h"
#include "id_set.h"
#include "reduce.h"

struct shared_entry {
	uint64_t id;
	int64_t ranks; /* that had it so far */
	struct reduce_state state;
};

struct shared {
	const struct schema_module *module;
	int64_t ranks; /* added so far */
	struct shared_entry *entries;
	uint8_t *records; /* entry n's record is the n-th */
	size_t used, room;
	size_t next;     /* the entry that comes next if this rank has the same files in the same order */
	uint32_t *index; /* open addressing by id: entry + 1 */
	size_t index_size;
};

void shared_begin(struct shared *s, const struct schema_module *m);

/* The next rank's records follow. */
void shared_rank(struct shared *s);

/* A record of that rank, of the module's plain size; the rank in it does not count. */
int shared_add(struct shared *s, const void *record, int64_t rank);

/* After the last rank: entries that not all `ranks` had are dropped. */
void shared_keep(struct shared *s, int64_t ranks);
/* The same of entries that are not in `ids`. */
void shared_keep_ids(struct shared *s, const struct id_set *ids);

/* After that. */
bool shared_has(const struct shared *s, uint64_t id);
struct shared_entry *shared_entry(const struct shared *s, uint64_t id); /* NULL = it has none */
void *shared_record(const struct shared *s, size_t n);                  /* n < used */

/* The records get rank -1, their variances, and times as logs keep them. */
void shared_end(struct shared *s);

void shared_free(struct shared *s);

#endif
