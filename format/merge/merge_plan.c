/* What a merge finds out before it writes: which logs are of one run, its ranks, and where its time goes. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "merging.h"
#include "upgrade.h"
#include "rewrite.h"

static const int64_t SECOND = 1000000000;

/* A time in a damaged job could be anything: years 1970 to 2250. */
static int64_t nanoseconds(int64_t s, int64_t ns)
{
	if (s < 0 || s > INT64_C(9000000000))
		return 0;
	return s * SECOND + (ns >= 0 && ns < SECOND ? ns : 0);
}

/* ---- one log ---- */

static char *keep_text(const char *text, size_t n)
{
	char *copy = log_alloc(n + 1);
	if (copy && n)
		memcpy(copy, text, n);
	return copy;
}

static char *keep_metadata(const struct log_job *job)
{
	struct log_bytes text = {0};
	for (size_t i = 0; i < job->nmetadata; i++) {
		log_bytes_add(&text, job->metadata[i].key, strlen(job->metadata[i].key));
		log_bytes_add(&text, "=", 1);
		log_bytes_add(&text, job->metadata[i].value, strlen(job->metadata[i].value));
		log_bytes_add(&text, "\n", 1);
	}
	char *kept = keep_text((const char *)text.at, text.used);
	log_bytes_free(&text);
	return kept;
}

static void later(double *latest, double t)
{
	*latest = t > *latest && t < 1e9 ? t : *latest;
}

static int latest_of_record(struct log_records *records, const struct log_record *r, double *latest,
			    struct log_error *err)
{
	struct log_segment s[64];
	int64_t n = 0;
	for (uint32_t i = 0; i < r->schema->nfields; i++) {
		const struct schema_field *f = &r->schema->fields[i];
		double t;
		if (f->type != FIELD_F64 || !strstr(f->name, "timestamp"))
			continue;
		memcpy(&t, (const uint8_t *)r->data + f->offset, sizeof t);
		later(latest, t);
	}
	while (newest_is_trace(r->schema) && (n = log_segments_next(records, s, 64, err)) > 0)
		for (int64_t i = 0; i < n; i++)
			later(latest, s[i].end);
	return (int)n;
}

/* Damage may have made any number of it. */
enum { MOST_RANKS = 1 << 26 };

/* Seconds: the last thing that happened. And the ranks, of a log that does not say how many there were. */
static int find_latest(struct merging *g, struct merge_part *p, struct log *log, double *latest)
{
	struct log_records *records;
	struct log_record r;
	int code = 0;
	for (int m = 0; code >= 0 && m < LOG_MAX_MODULES; m++) {
		if (!(p->modules >> m & 1) || (code = log_records_open(&records, log, m, g->err)) < 0)
			continue;
		while (code >= 0 && (code = log_records_next(records, &r, g->err)) > 0) {
			if (p->jobless && r.rank >= p->nprocs && r.rank < MOST_RANKS)
				p->nprocs = r.rank + 1;
			code = latest_of_record(records, &r, latest, g->err);
		}
		log_records_close(records);
	}
	return code;
}

static int find_end(struct merging *g, struct merge_part *p, struct log *log, const struct log_job *job)
{
	double latest = 0;
	struct newest_end end = newest_end(log, job);
	int64_t given = end.seconds ? 0 : g->options->end;
	p->end = given ? given * SECOND : nanoseconds(end.seconds, end.ns);
	int code = p->end ? 0 : find_latest(g, p, log, &latest);
	if (!p->end)
		p->end = p->begin + (int64_t)(latest * 1e9);
	p->end = p->end < p->begin ? p->begin : p->end;
	return code;
}

static void find_modules(struct merging *g, struct merge_part *p, struct log *log)
{
	const struct log_container *c = log_container(log);
	p->partial = c->partial;
	for (int m = 0; m < LOG_MAX_MODULES; m++)
		p->accesses |= (uint64_t)(c->accesses[m].length > 0) << m;
	for (int m = 0; m < LOG_MAX_MODULES; m++) {
		struct log_records *records;
		if (!c->module[m].length)
			continue;
		if (log_records_open(&records, log, m, NULL) == LOG_E_UNSUPPORTED)
			g->options->left_out |= UINT64_C(1) << m;
		else
			p->modules |= UINT64_C(1) << m;
		log_records_close(records);
	}
}

/* A table of the log's trailer; NULL = there is none. */
static int load_table(struct merging *g, struct trailer *trailer, const char *name, struct trailer_table **t)
{
	*t = NULL;
	return trailer_entry_named(trailer, name) ? trailer_find(trailer, name, t, g->err) : 0;
}

static bool has_all_ranks(const struct merge_part *p, const struct trailer_table *t)
{
	const struct trailer_field *rank = trailer_field(t, "rank");
	int64_t ranks = 0;
	for (uint64_t row = 0; rank && row < trailer_rows(t); row++)
		ranks += trailer_i64(t, row, rank, 0) >= 0;
	return ranks >= p->nprocs;
}

static int find_source(struct merging *g, struct merge_part *p, struct log *log)
{
	struct trailer *trailer;
	struct trailer_table *t = NULL;
	int code = trailer_open(&trailer, log, g->err);
	if (code >= 0)
		code = load_table(g, trailer, "selection", &t);
	if (code >= 0 && t && trailer_rows(t))
		p->source = (uint64_t)trailer_i64(t, 0, trailer_field(t, "source"), 0);
	trailer_free(t);
	t = NULL;
	if (code >= 0)
		code = load_table(g, trailer, "process", &t);
	p->whole = code >= 0 && t && has_all_ranks(p, t);
	p->sites = trailer_entry_named(trailer, "sites");
	p->merged = trailer_entry_named(trailer, "part") && trailer_entry_named(trailer, "interval");
	trailer_free(t);
	trailer_close(trailer);
	return code;
}

/* When it began is found later. */
static int survey_jobless(struct merging *g, struct merge_part *p, struct log *log)
{
	struct merge *m = g->options;
	double latest = 0;
	if (!m->jobless++) {
		m->jobless_path = p->path;
		m->jobless_error = *g->err;
	}
	*g->err = (struct log_error){.offset = LOG_NOWHERE};
	p->jobless = true;
	p->uid = p->id = -1;
	p->nprocs = 1;
	p->exe = keep_text("", 0);
	p->metadata = keep_text("", 0);
	if (!p->exe || !p->metadata)
		return log_fail(g->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	find_modules(g, p, log);
	int code = find_latest(g, p, log, &latest);
	p->end = (int64_t)(latest * 1e9);
	return code < 0 ? code : find_source(g, p, log);
}

/* What a log without a job began with: a part of the same log, else the first of all; NULL = they are all like this. */
static const struct merge_part *companion(const struct merging *g, const struct merge_part *p)
{
	const struct merge_part *best = NULL;
	for (const struct merge_part *o = g->parts; o < g->parts + g->nparts; o++) {
		bool same = p->source && o->source == p->source,
		     best_same = best && p->source && best->source == p->source;
		if (!o->jobless && (!best || same > best_same || (same == best_same && o->begin < best->begin)))
			best = o;
	}
	return best;
}

static void place_jobless(struct merging *g)
{
	for (struct merge_part *p = g->parts; p < g->parts + g->nparts; p++) {
		const struct merge_part *with = p->jobless ? companion(g, p) : NULL;
		p->begin = with ? with->begin : p->begin;
		p->end += with ? with->begin : 0;
	}
}

static int survey_log(struct merging *g, struct merge_part *p, struct log *log)
{
	const struct log_job *job;
	int code = log_job(log, &job, g->err);
	if (code == LOG_E_DAMAGED)
		return survey_jobless(g, p, log);
	if (code < 0)
		return code;
	p->uid = job->uid;
	p->id = job->id;
	p->nprocs = job->nprocs < 1 ? 1 : job->nprocs;
	p->begin = nanoseconds(job->start, job->start_ns);
	p->precise = job->start_ns != 0;
	p->exe = keep_text(job->exe, strlen(job->exe));
	p->metadata = keep_metadata(job);
	if (!p->exe || !p->metadata)
		return log_fail(g->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	find_modules(g, p, log);
	code = find_source(g, p, log);
	return code < 0 ? code : find_end(g, p, log, job);
}

static int survey(struct merging *g, const char *const *paths, size_t n)
{
	g->parts = log_alloc(n * sizeof *g->parts);
	g->runs = log_alloc(n * sizeof *g->runs);
	g->intervals = log_alloc(n * sizeof *g->intervals);
	if (!g->parts || !g->runs || !g->intervals)
		return log_fail(g->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = 0;
	g->step = "survey";
	g->ngiven = n;
	for (; code >= 0 && g->nparts < n; g->nparts++) {
		struct log *log;
		struct merge_part *p = &g->parts[g->nparts];
		*p = (struct merge_part){.path = paths[g->nparts], .given = g->nparts};
		code = merging_open(g, p, &log);
		if (code < 0)
			break;
		code = survey_log(g, p, log);
		log_close(log);
	}
	if (code >= 0 && g->options->jobless == n) {
		g->options->offender = g->options->jobless_path;
		*g->err = g->options->jobless_error;
		return g->err->code;
	}
	g->options->offender = code < 0 ? g->options->offender : NULL;
	place_jobless(g);
	return code;
}

/* ---- the records of a run ---- */

/* Of the part whose keys were read last. */
static int add_key(struct merging *g, struct merge_key key)
{
	if (!index_grow(&g->keys, g->nkeys, sizeof *g->keys))
		return LOG_E_MEMORY;
	g->keys[g->nkeys++] = key;
	return 0;
}

static int read_keys(struct merging *g, size_t part)
{
	const struct merge_part *p = &g->parts[part];
	struct log *log;
	struct log_records *records;
	struct log_record r;
	if (g->keys_known && g->keys_part == part)
		return 0;
	g->nkeys = 0;
	g->keys_known = true;
	g->keys_part = part;
	int code = merging_open(g, p, &log);
	for (int m = 0; code == 0 && m < LOG_MAX_MODULES; m++) {
		if (!(p->modules >> m & 1) || (code = log_records_open(&records, log, m, g->err)) < 0)
			continue;
		while (code >= 0 && (code = log_records_next(records, &r, g->err)) > 0) {
			code = add_key(g, (struct merge_key){m, merge_id(p, r.id), r.rank});
			if (!code && r.rank >= 0)
				code = add_key(g, (struct merge_key){MERGE_RANK, 0, r.rank});
		}
		log_records_close(records);
	}
	log_close(log);
	return code;
}

static int give_keys(struct merging *g, struct merge_run *run, size_t part)
{
	int code = read_keys(g, part);
	for (size_t i = 0; code >= 0 && i < g->nkeys; i++) {
		bool is_new;
		size_t n = text_number(&run->keys, &g->keys[i], sizeof *g->keys, &is_new);
		if (n == SIZE_MAX || (is_new && !index_grow(&run->owner, n, sizeof *run->owner)))
			return LOG_E_MEMORY;
		if (is_new)
			run->owner[n] = g->parts[part].given;
	}
	return code;
}

static int know_keys(struct merging *g, size_t run)
{
	struct merge_run *r = &g->runs[run];
	int code = 0;
	for (size_t i = 0; code >= 0 && !r->keys_known && i < g->nparts; i++)
		if (g->parts[i].run == run)
			code = give_keys(g, r, i);
	r->keys_known = true;
	return code;
}

/* Has the part, whose keys are read, a record or (where they matter) a rank of the run? */
static bool meets(const struct merging *g, const struct merge_run *run, bool ranks_matter)
{
	for (size_t i = 0; i < g->nkeys; i++)
		if ((ranks_matter || g->keys[i].module != MERGE_RANK) &&
		    text_find(&run->keys, &g->keys[i], sizeof *g->keys) != SIZE_MAX)
			return true;
	return false;
}

bool merge_repeats(const struct merging *g, const struct merge_part *p, int module, const struct log_record *r)
{
	const struct merge_run *run = &g->runs[p->run];
	const struct merge_key key = {module, r->id, r->rank};
	if (!p->source || !run->keys_known || run->parts < 2)
		return false;
	size_t n = text_find(&run->keys, &key, sizeof key);
	return n != SIZE_MAX && run->owner[n] != p->given;
}

/* ---- which logs are of one run ---- */

static bool same_job(const struct merge_part *a, const struct merge_part *b)
{
	return a->id == b->id && a->uid == b->uid && a->nprocs == b->nprocs && !strcmp(a->exe, b->exe);
}

/* 1 = the part belongs to the run, 0 = not, or a negative code. */
static int belongs(struct merging *g, size_t run, size_t part)
{
	struct merge_run *r = &g->runs[run];
	const struct merge_part *p = &g->parts[part], *first = &g->parts[r->first];
	if (g->options->ranks != MERGE_RANKS_FOUND)
		return g->options->ranks == MERGE_RANKS_KEPT;
	if (p->source || first->source)
		return p->source == first->source;
	if (p->whole || first->whole || p->jobless || first->jobless)
		return 0;
	bool is_collective = p->nprocs > 1 && p->begin <= r->end && p->end >= r->begin;
	bool same_time = p->precise && p->begin == first->begin && p->end == first->end;
	if (!same_job(p, first) || !(is_collective || same_time))
		return 0;
	int code = know_keys(g, run);
	if (code >= 0)
		code = read_keys(g, part);
	return code < 0 ? code : !meets(g, r, !same_time);
}

static int join_run(struct merging *g, size_t run, size_t part)
{
	struct merge_run *r = &g->runs[run];
	struct merge_part *p = &g->parts[part];
	p->run = run;
	r->parts++;
	r->begin = p->begin < r->begin ? p->begin : r->begin;
	r->end = p->end > r->end ? p->end : r->end;
	r->nprocs = p->nprocs > r->nprocs ? p->nprocs : r->nprocs;
	if (r->keys_known)
		return give_keys(g, r, part);
	return p->source && r->parts > 1 ? know_keys(g, run) : 0;
}

static int find_run(struct merging *g, size_t part)
{
	const struct merge_part *p = &g->parts[part];
	for (size_t run = g->nruns; run-- > 0;) {
		int code = belongs(g, run, part);
		if (code)
			return code < 0 ? code : join_run(g, run, part);
	}
	g->runs[g->nruns] = (struct merge_run){.first = part, .begin = p->begin, .end = p->end};
	return join_run(g, g->nruns++, part);
}

static int by_begin(const void *a, const void *b)
{
	const struct merge_part *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->given < y->given ? -1 : x->given > y->given;
}

static int find_runs(struct merging *g)
{
	int code = 0;
	g->step = "runs";
	log_sort(g->parts, g->nparts, sizeof *g->parts, by_begin);
	for (size_t i = 0; i < g->nparts; i++)
		g->parts[i].run = SIZE_MAX;
	for (size_t i = 0; code >= 0 && i < g->nparts; i++)
		code = find_run(g, i);
	return code;
}

/* ---- ranks and times ---- */

static int by_run(const void *a, const void *b)
{
	const struct merge_part *x = a, *y = b;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return x->given < y->given ? -1 : x->given > y->given;
}

static void give_ranks(struct merging *g)
{
	for (size_t i = 0; i < g->nruns; i++) {
		g->runs[i].rank = g->nprocs;
		g->nprocs += g->runs[i].nprocs;
	}
}

/* Runs are in order of their begin. */
static void find_intervals(struct merging *g)
{
	for (size_t i = 0; i < g->nruns; i++) {
		const struct merge_run *r = &g->runs[i];
		struct merge_interval *last = g->nintervals ? &g->intervals[g->nintervals - 1] : NULL;
		if (!last || r->begin > last->end)
			g->intervals[g->nintervals++] = (struct merge_interval){.begin = r->begin, .end = r->end};
		else if (r->end > last->end)
			last->end = r->end;
	}
	for (size_t i = 0; i < g->nintervals; i++) {
		struct merge_interval *v = &g->intervals[i];
		v->at = g->options->keep_gaps ? v->begin - g->intervals[0].begin : g->length;
		g->length = v->at + v->end - v->begin;
	}
}

static void give_times(struct merging *g)
{
	for (size_t i = 0; i < g->nparts; i++) {
		struct merge_part *p = &g->parts[i];
		struct merge_interval *v = g->intervals;
		while (v + 1 < g->intervals + g->nintervals && v[1].begin <= p->begin)
			v++;
		p->interval = (size_t)(v - g->intervals);
		v->merged |= p->merged;
		p->shift = (double)(v->at + p->begin - v->begin) / 1e9;
		g->shifted |= p->shift != 0;
	}
}

int merge_plan(struct merging *g, const char *const *paths, size_t n)
{
	int code = survey(g, paths, n);
	if (code >= 0)
		code = merge_names_read(g);
	if (code >= 0)
		code = find_runs(g);
	if (code < 0)
		return code;
	log_sort(g->parts, g->nparts, sizeof *g->parts, by_run);
	give_ranks(g);
	find_intervals(g);
	give_times(g);
	return 0;
}

void merge_forget(struct merging *g)
{
	for (size_t i = 0; i < g->nparts; i++) {
		log_free(g->parts[i].exe);
		log_free(g->parts[i].metadata);
		log_free(g->parts[i].moved);
	}
	for (size_t i = 0; i < g->nruns; i++) {
		text_index_free(&g->runs[i].keys);
		log_free(g->runs[i].owner);
	}
	merge_names_forget(&g->names);
	log_free(g->keys);
	log_free(g->parts);
	log_free(g->runs);
	log_free(g->intervals);
}
