/*
 * Waiting for other processes, which is none of the time in I/O: in named pipes, in logs that do not tell pipes from files, for locks
 * on files, and for a processor. The numbers stand in metrics that say the same: python/iolens/metrics/sql/pipe_waits.sql,
 * lock_waits.sql and processor_waits.sql.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "digest.h"
#include "index.h"
#include "lock_waits_thresholds.h"
#include "pipe_waits_thresholds.h"
#include "processor_waits_thresholds.h"
#include "records.h"
#include "reduce.h"

/* ---- named pipes ---- */

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

/* ---- the processor ---- */

void digest_take_queue(struct digest *d)
{
	double whole = d->io.total, queued = d->queued_part * (whole + d->locks.waited);
	if (whole <= 0 || queued <= 0 || queued < PROCESSOR_WAITS_WAITED_FOR * d->run_time)
		return;
	d->used.queued = queued < whole ? queued : whole;
	d->io.total -= d->used.queued;
	for (int op = 0; op < IO_OPS; op++)
		d->io.by_op[op] *= d->io.total / whole;
}

/* ---- locks ---- */

#define I64(name) trailer_i64(t, row, trailer_field(t, name), 0)
#define F64(name) trailer_f64(t, row, trailer_field(t, name), 0)

struct lock_file {
	double waited;           /* s */
	int64_t lowest, highest; /* ranks that lock it */
};

struct lock_rank {
	double waited, io, meta; /* s */
	bool mpi;
};

struct locks {
	struct text_index names;
	struct lock_file *file;
	struct index ranks;
	struct lock_rank *rank;
	double waited; /* s, of all */
	bool failed;
};

static struct lock_file *file_of(struct locks *l, const struct trailer_table *t, uint64_t row)
{
	bool is_new = false;
	size_t length;
	const char *name = trailer_text(t, row, trailer_field(t, "file"), 0, &length);
	size_t n = text_number(&l->names, name, length, &is_new);
	l->failed |= n == SIZE_MAX || (is_new && !index_grow(&l->file, n, sizeof *l->file));
	if (l->failed)
		return NULL;
	if (is_new)
		l->file[n] = (struct lock_file){0, I64("rank"), I64("rank")};
	return &l->file[n];
}

static struct lock_rank *rank_of(struct locks *l, int64_t rank)
{
	bool is_new = false;
	size_t n = index_number(&l->ranks, (uint64_t)rank, &is_new);
	l->failed |= n == SIZE_MAX || (is_new && !index_grow(&l->rank, n, sizeof *l->rank));
	if (l->failed)
		return NULL;
	if (is_new)
		l->rank[n] = (struct lock_rank){0};
	return &l->rank[n];
}

static void see_rank(struct locks *l, const struct trailer_table *t, uint64_t row)
{
	struct lock_file *f = file_of(l, t, row);
	int64_t rank = I64("rank");
	if (!f)
		return;
	f->lowest = rank < f->lowest ? rank : f->lowest;
	f->highest = rank > f->highest ? rank : f->highest;
}

/* What is beyond the time that free locks take. */
static void add_wait(struct locks *l, const struct trailer_table *t, uint64_t row)
{
	struct lock_file *f = file_of(l, t, row);
	struct lock_rank *r = f ? rank_of(l, I64("rank")) : NULL;
	if (!r)
		return;
	double each = f->lowest < f->highest ? LOCK_WAITS_FREE_SHARED : LOCK_WAITS_FREE;
	double waited = F64("wait_time") - each * (double)(I64("shared") + I64("exclusive"));
	if (waited <= 0)
		return;
	f->waited += waited;
	r->waited += waited;
	l->waited += waited;
}

static void add_process(struct locks *l, const struct trailer_table *t, uint64_t row)
{
	struct lock_rank *r = rank_of(l, I64("rank"));
	char mpi[24];
	trailer_copy_text(t, row, "mpi", mpi, sizeof mpi);
	if (!r)
		return;
	r->io += F64("io_time");
	r->meta += F64("meta_time");
	r->mpi |= *mpi != '\0';
}

/* s in I/O without the waits, at most: processes that wait may do so while the one with the lock is in I/O. */
static double left(const struct locks *l, bool mpi)
{
	double sum = 0, most = 0;
	for (size_t n = 0; n < l->ranks.used; n++) {
		const struct lock_rank *r = &l->rank[n];
		double rest = r->io - (r->waited < r->meta ? r->waited : r->meta);
		if (mpi && !r->mpi)
			continue;
		sum += rest;
		most = rest > most ? rest : most;
	}
	return mpi ? most : sum;
}

static void keep_most(struct digest_locks *to, const struct locks *l)
{
	const struct lock_file *most = l->file;
	for (size_t n = 0; n < l->names.hashes.used; n++)
		most = l->file[n].waited > most->waited ? &l->file[n] : most;
	size_t number = (size_t)(most - l->file), room = sizeof to->file - 1;
	const struct text_place *name = &l->names.places[number];
	to->several = most->lowest < most->highest;
	if (!name->length)
		return;
	const char *text = (const char *)l->names.bytes.at + name->at, *end = text + name->length;
	for (const char *at = text; at + 1 < end; at++)
		text = *at == '/' ? at + 1 : text;
	size_t length = (size_t)(end - text) < room ? (size_t)(end - text) : room;
	memcpy(to->file, text, length);
}

static void take_locks(struct digest *d, const struct locks *l)
{
	double waited = d->io.total - left(l, d->mpi), *meta = &d->io.by_op[IO_META];
	waited = waited < *meta ? waited : *meta;
	if (waited < LOCK_WAITS_WAITED_FOR * d->run_time)
		return;
	d->locks.waited = waited;
	d->io.total -= waited;
	*meta -= waited;
	keep_most(&d->locks, l);
}

void digest_read_locks(struct digest *d, struct trailer *trailer, const struct trailer_table *t)
{
	struct locks l = {0};
	struct log_error err;
	struct trailer_table *processes = NULL;
	for (uint64_t row = 0; row < trailer_rows(t); row++)
		see_rank(&l, t, row);
	for (uint64_t row = 0; row < trailer_rows(t); row++)
		add_wait(&l, t, row);
	if (d->run_time > 0 && l.waited >= LOCK_WAITS_WAITED_FOR * d->run_time &&
	    trailer_find(trailer, "process", &processes, &err) >= 0 && processes)
		for (uint64_t row = 0; row < trailer_rows(processes); row++)
			add_process(&l, processes, row);
	if (processes && !l.failed)
		take_locks(d, &l);
	trailer_free(processes);
	text_index_free(&l.names);
	log_free(l.file);
	index_free(&l.ranks);
	log_free(l.rank);
}
