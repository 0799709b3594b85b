/*
 * What a process can do ahead for the log of its MPI job, while the others do the same: its records and names are squeezed
 * already, but for those that might be everybody's. A file beside the store, only ever read by the rank that makes the log
 * at once: `iolens recover` works on the store alone.
 */
#ifndef IOLENS_PACK_H
#define IOLENS_PACK_H

#include "alloc.h"
#include "error.h"
#include "id_set.h"
#include "log.h"

enum pack_part { PACK_NAMES, PACK_POSIX, PACK_MPIIO, PACK_STDIO, PACK_PARTS };

/* Sums over the records of a module. */
struct pack_totals {
	int64_t records, opens, reads, writes, bytes_read, bytes_written;
	double read_time, write_time, meta_time;
};

struct pack {
	char magic[8];
	struct {
		uint64_t offset, stored; /* of its stream in the file */
		uint64_t raw;            /* bytes of the store's region when it was read */
		uint64_t packed, left;   /* entries */
	} part[PACK_PARTS];
	struct pack_totals totals[PACK_PARTS];
};

#define PACK_SUFFIX ".packed"

/* Ids of the records and names of a store. */
int pack_ids(struct id_set *ids, struct log *store, struct log_error *err);

/* Do two ranks have the same files in the same order, as far as some samples tell? Then there is nothing to pack. */
bool pack_alike(struct log *a, struct log *b);

/* Writes the pack of a rank's store: what is not in `shared`. */
int pack_make(struct log *store, const struct id_set *shared, int64_t rank, const char *path, struct log_error *err);

/* False when there is none, or the store has changed since. */
bool pack_load(struct pack *p, struct log *store, const char *path);

/* A part's stream, instead of what is in `out`. */
int pack_read(const struct pack *p, const char *path, enum pack_part part, struct log_bytes *out);

/* PACK_PARTS for a module that is never packed. */
enum pack_part pack_part_of(int module);
/* -1 for the names. */
int pack_module(enum pack_part part);

bool pack_standard_stream(uint64_t id);

/* Standard streams have a record from the start, inherited files from the fork: one that was not used says nothing. */
bool pack_unused(int module, const struct log_record *r);

void pack_total_add(struct pack_totals *t, const struct log_record *r);

#endif
