/*
 * The trace that a store holds, file by file. Nothing in it is trusted: what is damaged ends its chunk.
 *
 *	traces_open_image(&traces, &image, &err);
 *	for (size_t n = 0; n < traces.nfiles; n++) {
 *		trace_begin(&reader, &traces, n);
 *		while ((code = trace_next(&reader, &access, &err)) > 0)
 *			...
 *	}
 *	traces_close(&traces);
 */
#ifndef IOLENS_TRACE_READER_H
#define IOLENS_TRACE_READER_H

#include "alloc.h"
#include "error.h"
#include "store_reader.h"
#include "trace_chunk.h"
#include "written.h"

struct trace_access {
	int op; /* enum io_op: read, write */
	int64_t offset, length;
	double start, end; /* s since the job's start */
	uint16_t thread;
};

/* What one process did to one file by one interface: chunks from `first` on. */
struct trace_file {
	enum trace_interface interface;
	uint64_t id;
	size_t first, chunks;
};

struct trace_place;

struct traces {
	const struct source *source;
	uint64_t offset; /* in it */
	struct trace_place *places;
	size_t nplaces;
	struct trace_file *files; /* in order of interfaces, then of their first chunks */
	size_t nfiles;
};

/* Of the `length` bytes of chunks that the source has at `offset`. */
int traces_open(struct traces *t, const struct source *source, uint64_t offset, uint64_t length, struct log_error *err);
/* The image's live tables must be loaded. No files where there is no trace. */
int traces_open_image(struct traces *t, const struct store_reader *i, struct log_error *err);
void traces_close(struct traces *t);

struct trace_reader {
	const struct traces *traces;
	size_t next, end; /* chunks */
	size_t at, used;  /* in bytes[] */
	struct trace_pattern pattern[2];
	int64_t ended;
	uint16_t thread;
	uint8_t bytes[TRACE_MOST + 16]; /* items of a chunk; zeros behind them */
};

void trace_begin(struct trace_reader *r, const struct traces *t, size_t file);
/* 1, 0 = there are no more, or a negative code. In order of completion. */
int trace_next(struct trace_reader *r, struct trace_access *out, struct log_error *err);

/*
 * What a rank can do ahead for its trace in the log of its MPI job, while the others do the same: its segments are compressed
 * and its accesses encoded. A file beside the store (precompressed.h makes it).
 */
enum traces_ahead_part { TRACES_AHEAD_SEGMENTS, TRACES_AHEAD_ACCESSES, TRACES_AHEAD_PARTS };

struct traces_ahead {
	char magic[8];
	uint64_t used;    /* bytes of the store's trace when it was read */
	uint64_t missing; /* bits of modules whose accesses are not all there */
	struct {
		uint64_t offset, stored; /* in the file */
	} part[TRACES_AHEAD_PARTS][TRACE_COUNT];
};

#define TRACES_AHEAD_SUFFIX ".traces"
#define TRACES_AHEAD_MAGIC  "ahead 1"

/* False when there is none, or the store has changed since. */
bool traces_ahead_load(struct traces_ahead *t, const struct store_reader *i, const char *path);

/* Instead of what is in `out`. */
int traces_ahead_read(const struct traces_ahead *t, const char *path, enum traces_ahead_part part, int interface,
		      struct log_bytes *out);

#endif
