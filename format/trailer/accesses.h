/*
 * Traced accesses as a log keeps them behind its regions (docs/reference/extension-trailer.md): for each interface an area of
 * records, one per file and rank, writes before reads. A record is blocks of accesses, each a table of columns (columns.h) of
 * what distinguishes an access from the one before. Section "accesses" of the trailer says where the areas are.
 */
#ifndef IOLENS_ACCESSES_H
#define IOLENS_ACCESSES_H

#include <stdbool.h>

#include "alloc.h"
#include "error.h"
#include "source.h"

#define ACCESS_RATE    0x1p25 /* ticks per second: 30 ns is about what it takes to read the clock twice */
#define ACCESS_SECTION "accesses"
#define ACCESS_SCHEMA  "module str\noffset u64 offset\nstored u64 bytes\nincomplete u64\n"

enum { ACCESS_BLOCK = 4096, ACCESS_HOST = 64 };

/* Of one kind, where the other has another array. */
enum access_kind { ACCESS_WRITES, ACCESS_READS };

struct logged_access {
	int64_t offset; /* -1 = unknown */
	int64_t length;
	int64_t start, end; /* ticks since the job's start */
	uint64_t thread;    /* its number in the process, from 1 on; 0 = unknown */
};

/* What the accesses of a record share. */
struct access_head {
	uint64_t id;
	int64_t rank;
	char host[ACCESS_HOST + 1];
	uint64_t count[2]; /* by enum access_kind */
};

/* ---- writing ---- */

struct access_writer;

/* NULL: no memory. */
struct access_writer *access_writer_make(void);
void access_writer_free(struct access_writer *w);

/* 0 or LOG_E_MEMORY. */
int access_add(struct access_writer *w, enum access_kind kind, const struct logged_access *a);
/* Appends the record of what was added since the last one, its counts are set; nothing when that was nothing. */
int access_end(struct access_writer *w, struct access_head *head, struct log_bytes *out);
/* Instead of that: what was added is forgotten. */
void access_forget(struct access_writer *w);

/* ---- reading: nothing is trusted, and memory is in proportion to what is stored ---- */

struct access_reader;

/* Of an area. The source must stay. */
int access_reader_open(struct access_reader **out, const struct source *s, uint64_t offset, uint64_t size,
		       struct log_error *err);
void access_reader_close(struct access_reader *r);

/* 1, 0 = there are no more, or a negative code. */
int access_next_record(struct access_reader *r, struct access_head *head, struct log_error *err);
/* Up to n accesses of that record, all of one kind: its writes, then its reads; 0 at the end. */
int64_t access_next(struct access_reader *r, enum access_kind *kind, struct logged_access *out, size_t n,
		    struct log_error *err);

#endif
