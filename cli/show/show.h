/* The parts of `iolens show`; the layout of the output is darshan-parser's. */
#ifndef IOLENS_SHOW_H
#define IOLENS_SHOW_H

#include "filter.h"
#include "index.h"
#include "log.h"
#include "output.h"
#include "reduce.h"

enum show_part {
	SHOW_BASE = 1,
	SHOW_TOTAL = 2,
	SHOW_FILE = 4,
	SHOW_PERF = 8,
	SHOW_FILE_LIST = 16,
	SHOW_FILE_DETAIL = 32,
	SHOW_EXT = 64,
	SHOW_INCOMPLETE = 128,
	SHOW_PER_FILE = SHOW_FILE | SHOW_FILE_LIST | SHOW_FILE_DETAIL,
	SHOW_SUMS = SHOW_TOTAL | SHOW_PERF | SHOW_PER_FILE,
};

enum show_form { SHOW_TEXT_FORM, SHOW_JSON, SHOW_CSV };

struct show {
	struct output out;
	struct output frame; /* scratch: what all lines of a record share */
	const char *path;
	struct log *log;
	const struct log_job *job;
	unsigned parts;
	struct filter filter;
	enum show_form form;
	const char *folder; /* for CSV: one file per module; NULL = standard output */
	int exit;
};

extern const struct choices show_choices;

/* Returns the log's place in argv, or -1 with s->exit set. */
int show_parse(int argc, char **argv, struct show *s);

/* Is the record to be shown? */
bool show_wants(const struct show *s, const struct log_record *r);

/* The whole log as one JSON object (docs/guide/show.md), or its records as tables. */
void show_json(struct show *s);
void show_csv(struct show *s);

/* One line on standard error; the rest of the output goes on. */
void show_error(struct show *s, const char *where, const struct log_error *err);

void show_header(struct show *s);

/* Warns of a module that lacks data. False: it is not to be shown. */
bool show_partial(struct show *s, int module);

/* ---- base: a line per counter ---- */

/* What all lines of a module share. */
struct base_lines {
	const struct schema_module *module;
	char *labels; /* "POSIX_OPENS<TAB>", one after the other */
	struct base_label {
		uint32_t at, length;
		uint16_t offset;
		uint8_t type;
		uint16_t bytes;                      /* of a text */
		const struct schema_field *valid_if; /* not in every log; NULL = always there */
	} * label;
	size_t nlabels;
};

bool base_open(struct base_lines *b, const struct schema_module *m);
void base_close(struct base_lines *b);
void show_description(struct show *s, const struct schema_module *m);
void show_record(struct show *s, const struct base_lines *b, const struct log_record *r);

enum { SHOW_TEXT = 160 /* any label or text of a record */ };

/* What stands before and after the counter in all lines of one record. */
struct frame {
	char *before;
	size_t nbefore;
	char *after;
	size_t nafter;
};

char *show_value(char *to, enum field_type type, const void *at);
void show_arrays(struct show *s, const struct log_record *r, const struct frame *f);
/* Of a record of DAOS: its object, where that is its name, and pool:container in place of a mount point. */
bool show_object(const struct log_record *r, char object[SHOW_TEXT], char mount[SHOW_TEXT]);

/* ---- sums over a module's records ---- */

struct file_sum {
	uint64_t id;
	int64_t bytes_read, bytes_written;
	int64_t max_offset;
	int64_t processes; /* -1 = all */
	double slowest;    /* s, of one process */
	double time;       /* s, all processes */
};

struct rank_sum {
	int64_t rank;
	double io, meta, data; /* s */
};

struct sums {
	const struct schema_module *module;
	unsigned parts; /* what is asked for; 0 where file and performance figures make no sense */
	bool used;
	struct reduce_total total;
	uint8_t *record, *scratch; /* the total, and memory to compute it */
	struct index file_index, rank_index;
	struct file_sum *files;
	struct rank_sum *ranks;
	uint8_t *merged; /* one record per file, when details are asked for */
	struct reduce_state *merging;
	int64_t bytes;
	double shared_time;
};

bool sums_open(struct sums *u, const struct schema_module *m, unsigned parts);
void sums_close(struct sums *u);
/* False: no memory. */
bool sums_add(struct sums *u, const struct log_record *r);
/* After the last record. */
void sums_end(struct sums *u);
void show_sums(struct show *s, const struct sums *u);

struct category_sum {
	const char *name;
	int64_t files, bytes, max_offset; /* max_offset -1 = not known */
};
enum { CATEGORIES = 6 };
struct category_sum sums_category(const struct sums *u, int category);

struct performance {
	struct rank_sum slowest; /* of files that one process used */
	double time, speed;      /* s, MiB/s: with shared files */
};
struct performance sums_performance(const struct sums *u);

/* A log of Darshan 1.x or 2.x, all of it. */
void show_old(struct show *s);
void show_job_of_old(struct show *s);

/* Sections of the extension trailer, as comment lines. */
void show_trailer(struct show *s);

#endif
