/*
 * Waiting in named pipes, in logs that do not tell pipes from files. The numbers stand in the metric that says the same:
 * python/iolens/metrics/sql/pipe_waits.sql.
 */
#include <stdlib.h>

#include "alloc.h"
#include "digest.h"
#include "index.h"
#include "pipe_waits_thresholds.h"
#include "records.h"
#include "reduce.h"

enum { PIPE_MOVES = 1 << 20, PIPE_PAGE = 4096 }; /* bytes an open moves at most; of a read */

/* A wait for the other end, in opens of one record. */
struct pipe_open {
	double began, ended, time; /* s */
	int64_t rank;
};

struct pipes {
	struct pipe_open *open;
	size_t opens;
	struct index ranks;
	double *by_rank, shared; /* s */
	double first, last;      /* of opens that end together */
	bool answered;           /* other files were opened meanwhile */
	bool failed;
};

static double opened(const struct log_record *r)
{
	int64_t n = reduce_opens(r->schema, r->data);
	return n > 1 ? (double)n : 1;
}

static bool waits_in_open(const struct log_record *r, const struct posix_record *p)
{
	return p->meta_time > PIPE_WAITS_OPEN * opened(r) &&
	       (double)(p->bytes_read + p->bytes_written) < PIPE_MOVES * opened(r);
}

static bool waits_in_reads(const struct log_record *r, const struct posix_record *p)
{
	double pages = opened(r) + (double)p->bytes_read / PIPE_PAGE;
	return p->seeks <= 0 && p->bytes_read == p->max_byte_read + 1 && p->max_read_time > 0.001 &&
	       p->read_time > 2 * p->max_read_time * pages;
}

static void take(struct pipes *w, int64_t rank, double time)
{
	bool is_new = false;
	if (rank < 0) {
		w->shared += time;
		return;
	}
	size_t n = index_number(&w->ranks, (uint64_t)rank, &is_new);
	w->failed |= n == SIZE_MAX || (is_new && !index_grow(&w->by_rank, n, sizeof *w->by_rank));
	if (!w->failed)
		w->by_rank[n] = (is_new ? 0 : w->by_rank[n]) + time;
}

static void add_candidate(struct pipes *w, const struct log_record *r, const struct posix_record *p)
{
	if (waits_in_reads(r, p))
		take(w, r->rank, p->read_time);
	if (!waits_in_open(r, p))
		return;
	w->failed |= !index_grow(&w->open, w->opens, sizeof *w->open);
	if (!w->failed)
		w->open[w->opens++] =
			(struct pipe_open){p->open_start_timestamp, p->open_end_timestamp, p->meta_time, r->rank};
}

static void find_answer(struct pipes *w, const struct log_record *r, const struct posix_record *p)
{
	double ended = p->open_end_timestamp;
	w->answered |= p->meta_time < opened(r) && ended > w->first + 1 && ended < w->last - 1;
}

static void each_record(struct digest *d, struct pipes *w,
			void (*look)(struct pipes *, const struct log_record *, const struct posix_record *))
{
	struct log_records *records;
	struct log_record r;
	struct log_error err;
	if (log_records_open(&records, d->log, LOG_MOD_POSIX, &err) < 0)
		return;
	while (log_records_next(records, &r, &err) > 0)
		if (((const struct posix_record *)r.data)->opens > 0)
			look(w, &r, r.data);
	log_records_close(records);
}

static int by_end(const void *x, const void *y)
{
	const struct pipe_open *a = x, *b = y;
	return a->ended < b->ended ? -1 : a->ended > b->ended;
}

static bool ends_with_another(const struct pipes *w, size_t n)
{
	const struct pipe_open *o = &w->open[n];
	return (n && o->ended - o[-1].ended < PIPE_WAITS_TOGETHER) ||
	       (n + 1 < w->opens && o[1].ended - o->ended < PIPE_WAITS_TOGETHER);
}

/* Keeps opens that end together. */
static void join(struct pipes *w)
{
	size_t kept = 0;
	if (w->opens)
		qsort(w->open, w->opens, sizeof *w->open, by_end);
	bool *together = calloc(w->opens + 1, sizeof *together);
	for (size_t n = 0; together && n < w->opens; n++)
		together[n] = ends_with_another(w, n);
	for (size_t n = 0; together && n < w->opens; n++) {
		if (!together[n])
			continue;
		w->first = kept && w->first < w->open[n].began ? w->first : w->open[n].began;
		w->last = w->open[n].ended;
		w->open[kept++] = w->open[n];
	}
	free(together);
	w->opens = kept;
}

static double waited(const struct pipes *w)
{
	double longest = 0, all = w->shared;
	for (size_t n = 0; n < w->ranks.used; n++) {
		longest = w->by_rank[n] > longest ? w->by_rank[n] : longest;
		all += w->by_rank[n];
	}
	return all > PIPE_WAITS_SECONDS ? longest + w->shared : 0;
}

void digest_take_pipes(struct digest *d, const struct digest_estimate *e)
{
	struct pipes w = {0};
	double whole = d->io.total;
	if (!d->estimated || whole <= PIPE_WAITS_SECONDS || !log_container(d->log)->module[LOG_MOD_POSIX].length)
		return;
	each_record(d, &w, add_candidate);
	join(&w);
	if (w.opens)
		each_record(d, &w, find_answer);
	for (size_t n = 0; w.answered && n < w.opens; n++)
		take(&w, w.open[n].rank, w.open[n].time);
	d->in_pipes = w.failed ? 0 : waited(&w) * whole / digest_estimate_sum(e);
	d->in_pipes = d->in_pipes < whole ? d->in_pipes : whole;
	d->io.total -= d->in_pipes;
	for (int op = 0; op < IO_OPS; op++)
		d->io.by_op[op] *= d->io.total / whole;
	index_free(&w.ranks);
	log_free(w.by_rank);
	log_free(w.open);
}
