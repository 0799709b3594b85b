/*
 * Files that every rank of an MPI job used, one module at a time: the records of all ranks become one. Ranks are added in
 * order; what the first rank does not have, or a later one lacks, is not shared.
 */
#ifndef IOLENS_SHARED_H
#define IOLENS_SHARED_H

#include <stdbool.h>

#include "alloc.h"
#include "error.h"
#include "id_set.h"
#include "reduce.h"
#include "writer.h"

struct shared_entry {
	uint64_t id;
	int64_t ranks;           /* that had it so far */
	struct log_bytes arrays; /* behind the record, of modules that have such */
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

/* A record of that rank, with what is behind it; the rank in it does not count. */
int shared_add(struct shared *s, const void *record, size_t size, int64_t rank);

/* Records with arrays are not added up: the one with more of them stands for all. */
int shared_add_arrays(struct shared *s, struct shared_entry *e, const void *record, const void *arrays, size_t n);
bool shared_has_arrays(const struct schema_module *m);

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
/* Then. */
int shared_write(struct shared *s, struct log_writer *w);

void shared_free(struct shared *s);

#endif
