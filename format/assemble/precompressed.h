/*
 * What a process can do ahead for the log of its MPI job, while the others do the same: its records and names are
 * compressed already, but for those that all ranks might share. A file beside the store, only ever read by the rank that
 * makes the log at once: `iolens recover` works on the store alone.
 */
#ifndef IOLENS_PRECOMPRESSED_H
#define IOLENS_PRECOMPRESSED_H

#include "alloc.h"
#include "error.h"
#include "id_set.h"
#include "log.h"
#include "store_records.h"

/* The names, then the records of each slot of `enum written`. */
enum precompressed_part {
	PRECOMPRESSED_NAMES,
	PRECOMPRESSED_RECORDS,
	PRECOMPRESSED_PARTS = PRECOMPRESSED_RECORDS + WRITTEN_COUNT
};

/* Sums over the records of a module. */
struct precompressed_totals {
	int64_t records, opens, reads, writes, bytes_read, bytes_written;
	double read_time, write_time, meta_time;
};

struct precompressed {
	char magic[8];
	struct {
		uint64_t offset, stored; /* of its stream in the file */
		uint64_t raw;            /* bytes of the store's region when it was read */
		uint64_t packed, left;   /* entries */
	} part[PRECOMPRESSED_PARTS];
	struct precompressed_totals totals[PRECOMPRESSED_PARTS];
};

#define PRECOMPRESSED_SUFFIX ".packed"

/* Ids of the records and names of a store. */
int precompressed_ids(struct id_set *ids, struct log *store, struct log_error *err);

/* Do two ranks have the same files in the same order, as far as some samples tell? Then there is nothing to compress ahead. */
bool precompressed_alike(struct log *a, struct log *b);

/* Writes the precompressed region of a rank's store: what is not in `shared`. */
int precompressed_make(struct log *store, const struct id_set *shared, int64_t rank, const char *path,
		       struct log_error *err);

/* False when there is none, or the store has changed since. */
bool precompressed_load(struct precompressed *p, struct log *store, const char *path);

/* A part's stream, instead of what is in `out`. */
int precompressed_read(const struct precompressed *p, const char *path, enum precompressed_part part,
		       struct log_bytes *out);

/* PRECOMPRESSED_PARTS for a module that is never compressed ahead. */
enum precompressed_part precompressed_part_of(int module);
/* -1 for the names. */
int precompressed_module(enum precompressed_part part);

bool precompressed_standard_stream(uint64_t id);

/* The next record of a store: behind a damaged one with arrays no other can be found. */
int precompressed_next(int module, struct store_records *records, struct log_record *r, struct log_error *err);

/* Standard streams have a record from the start, inherited files from the fork: one that was not used says nothing. */
bool precompressed_unused(int module, const struct log_record *r);

void precompressed_total_add(struct precompressed_totals *t, const struct log_record *r);

#endif
