/* The parts of `iolens diff`: what is compared, how, and how it is told. */
#ifndef IOLENS_DIFF_H
#define IOLENS_DIFF_H

#include "filter.h"
#include "index.h"
#include "json.h"
#include "values.h"

enum { DIFF_RULES = 64, DIFF_MAPS = 32, DIFF_NAME = 8192 };

/* How far apart two values may be. */
struct diff_tolerance {
	double absolute, relative; /* either of them is enough */
	bool ignore;
};

struct diff_rule {
	const char *pattern; /* posix.*_time, or *_time */
	struct diff_tolerance tolerance;
};

struct diff_map {
	regex_t regex;
	const char *to; /* with \1 ... \9 */
};

struct diff_options {
	struct filter filter;
	struct diff_tolerance tolerance; /* where no rule says otherwise; the last rule that fits counts */
	struct diff_rule rules[DIFF_RULES];
	size_t nrules;
	struct diff_map maps[DIFF_MAPS];
	size_t nmaps;
	bool numbers;      /* names that differ in numbers alone are the same */
	bool ignore_times; /* what changes from run to run */
	bool whole_job;    /* user, job id, start and end, too */
	bool json, brief;
};

extern const struct choices diff_choices;

/* Returns the place of the logs in argv, or -1 and an exit code. */
int diff_parse(int argc, char **argv, struct diff_options *o, int *code);
void diff_options_close(struct diff_options *o);

/* ---- the records of one module of one log, in order of what their names become ---- */

struct diff_record {
	const char *name;   /* NULL = the log has none */
	const char *mapped; /* what it is compared by */
	uint64_t id;
	int64_t rank;
	const struct schema_module *schema;
	size_t at;          /* of its bytes */
	uint32_t kind : 31; /* what it has in common with others */
	uint32_t met : 1;   /* has found its like */
	uint32_t trace;     /* its segments: 1 + which of the side's traces; 0 = it has none */
};

struct diff_trace {
	size_t first, count; /* of segments */
};

/* Records of a module are of one kind, or of few. */
struct diff_kind {
	const struct schema_history *history;
	const struct schema_map *map;
	const struct log_missing *missing;
	size_t size;
	uint8_t *first; /* of them; of the others only the words that differ are kept */
};

struct diff_side {
	const char *path;
	struct log *log;
	const struct log_job *job;
	bool there; /* the module */
	struct diff_record *records;
	size_t nrecords;
	struct diff_kind *kinds;
	size_t nkinds;
	uint8_t *bytes; /* of records, packed: most of a million records' are zeros, or the same */
	size_t used, room;
	uint8_t *whole; /* one of them as it was */
	size_t whole_room;
	struct log_segment *segments;
	size_t nsegments;
	struct diff_trace *traces;
	uint32_t ntraces;
	struct index ids;     /* of names that have been mapped */
	const char **mapped;  /* by their number */
	uint8_t *region_head; /* of the module */
};

/* 0 or a negative code. */
int diff_load(struct diff_side *s, const struct diff_options *o, int module, struct log_error *err);
void diff_unload(struct diff_side *s);
void diff_close_side(struct diff_side *s);
/* What the name of an id is compared by; NULL = it has none. */
const char *diff_mapped(struct diff_side *s, const struct diff_options *o, uint64_t id);
/* Valid until the next call for the same side. */
struct log_record diff_record_of(const struct diff_side *s, const struct diff_record *r);

struct diff_trace diff_trace_of(const struct diff_side *s, const struct diff_record *r);

/* ---- telling ---- */

struct diff_count {
	size_t compared, differing, counters, only[2];
};

struct diff_report {
	const struct diff_options *options;
	const char *paths[2];
	struct json json;
	size_t shown; /* differences of the record at hand */
	bool in_record;
	bool any; /* something differs */
};

/* A value as text, for people and for JSON. */
struct diff_value {
	char text[256];
	bool is_number;
	double number;
};

void report_begin(struct diff_report *r);
void report_job(struct diff_report *r, const char *field, const struct diff_value *a, const struct diff_value *b);
void report_module(struct diff_report *r, const char *module);
void report_only(struct diff_report *r, const char *module, int side, const struct diff_record *one);
void report_counter(struct diff_report *r, const char *module, const struct diff_record *a, const struct diff_record *b,
		    const char *counter, const struct diff_value *va, const struct diff_value *vb);
void report_record_end(struct diff_report *r);
void report_module_end(struct diff_report *r, const char *module, const struct diff_count *n);
void report_end(struct diff_report *r, size_t compared);

#endif
