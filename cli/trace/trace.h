/* The parts of `iolens trace`: what is selected, and the forms in which it is printed. */
#ifndef IOLENS_TRACE_H
#define IOLENS_TRACE_H

#include "filter.h"
#include "show.h"
#include "sites.h"

enum trace_form { TRACE_TEXT, TRACE_CHRONOLOGICAL, TRACE_CSV, TRACE_JSON };

/* What is wanted. Zeroed but for max_size: everything. */
struct trace_filter {
	int module; /* 0 = all */
	struct filter records;
	bool has_time;
	double from, to; /* s; segments that overlap this span */
	int operation;   /* 'r', 'w', 0 = both */
	int64_t min_size, max_size;
};

struct trace {
	struct show show;
	struct trace_filter filter;
	enum trace_form form;
	bool threads;        /* in text, too */
	struct sites *sites; /* in text: where files were opened; NULL = not known */
};

/* What all segments of a record share. */
struct trace_record {
	uint64_t id;
	int64_t rank;
	int module;
	const char *name;             /* "" = the log has none */
	const struct log_pair *mount; /* NULL = unknown */
	char host[65];
	int64_t writes, reads; /* as the log says */
	bool has_threads;
	bool in_trailer;                 /* not in a region of Darshan's */
	const struct log_record *lustre; /* NULL = striping is not known */
};

bool trace_wants_record(const struct trace_filter *f, const struct trace_record *r);
bool trace_wants_segment(const struct trace_filter *f, const struct log_segment *s);

/* ---- striping ---- */

/* All LUSTRE records of a log, by id. */
struct stripes;
/* NULL = the log has none, or no memory. */
struct stripes *stripes_open(struct log *log);
void stripes_close(struct stripes *x);
const struct log_record *stripes_of(const struct stripes *x, uint64_t id);

enum { STRIPES_MAX = 4096 /* targets of one access */ };

/* Numbers of the targets that [offset, offset + length) lies on, each once, in the order they are met. */
int stripes_touched(const struct log_record *lustre, int64_t offset, int64_t length, int64_t targets[STRIPES_MAX]);

/* ---- forms ---- */

/* The layout of darshan-dxt-parser: record by record. */
void trace_text(struct trace *t, const struct stripes *stripes);
/* All segments of the log in order of their start, one per line, with times to the nanosecond. */
void trace_table(struct trace *t, const struct stripes *stripes);

/* Does the log have accesses of that module, and are they wanted? */
bool trace_wants_module(const struct trace *t, int module);

/* Fills what the two forms share; name and mount belong to the log. */
void trace_describe(struct trace *t, const struct stripes *stripes, int module, const struct log_record *r,
		    struct trace_record *out);

#endif
