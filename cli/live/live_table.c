#include "live_table.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "units.h"

struct column {
	const char *title;
	int width, narrow; /* characters, and where the terminal is too narrow for all columns */
	bool left;
};

struct view {
	const char *name;
	int usual;                               /* column that it is sorted by, largest first */
	struct column columns[LIVE_COLUMNS + 1]; /* the one without width is the text */
};

static const struct view views[LIVE_VIEWS] = {
	[LIVE_JOBS] = {"jobs",
		       3,
		       {{"JOB", 10, 10, true},
			{"USER", 9, 9, true},
			{"PROCS", 5, 5, false},
			{"READ/s", 10, 7, false},
			{"WRITE/s", 10, 8, false},
			{"OPS/s", 9, 7, false},
			{"I/O %", 5, 5, false},
			{"RUN", 8, 8, false},
			{"COMMAND", 0, 0, true}}},
	[LIVE_FILES] = {"files",
			0,
			{{"READ/s", 10, 7, false},
			 {"WRITE/s", 10, 8, false},
			 {"OPS/s", 9, 7, false},
			 {"READ", 10, 7, false},
			 {"WRITTEN", 10, 8, false},
			 {"TIME", 9, 8, false},
			 {"SIZE", 10, 7, false},
			 {"PROCS", 5, 5, false},
			 {"FILE", 0, 0, true}}},
	[LIVE_PROCESSES] = {"processes",
			    -1,
			    {{"RANK", 5, 5, false},
			     {"PID", 8, 8, false},
			     {"S", 1, 1, true},
			     {"READ/s", 10, 7, false},
			     {"WRITE/s", 10, 8, false},
			     {"OPS/s", 9, 7, false},
			     {"I/O %", 5, 5, false},
			     {"READ", 10, 7, false},
			     {"WRITTEN", 10, 8, false},
			     {"HOST", 12, 12, true},
			     {"PROGRAM", 0, 0, true}}},
	[LIVE_INTERFACES] = {"interfaces",
			     -1,
			     {{"READ/s", 10, 7, false},
			      {"WRITE/s", 10, 8, false},
			      {"OPS/s", 9, 7, false},
			      {"READ", 10, 7, false},
			      {"WRITTEN", 10, 8, false},
			      {"READS", 10, 7, false},
			      {"WRITES", 10, 7, false},
			      {"TIME", 9, 8, false},
			      {"INTERFACE", 0, 0, true}}},
	[LIVE_OPERATIONS] = {"operations",
			     0,
			     {{"PER s", 9, 7, false},
			      {"COUNT", 12, 8, false},
			      {"FAILED", 8, 7, false},
			      {"TIME", 9, 8, false},
			      {"OPERATION", 0, 0, true}}},
};

const char *live_view_name(enum live_view view)
{
	return views[view].name;
}

int live_view_columns(enum live_view view)
{
	int n = 0;
	while (views[view].columns[n].width)
		n++;
	return n;
}

/* ---- cells ---- */

static void put_bytes(struct live_row *r, int column, double bytes)
{
	char text[UNITS_TEXT];
	r->key[column] = bytes;
	if (bytes > 0)
		snprintf(r->cell[column], LIVE_CELL, "%s", units_bytes(text, bytes));
}

static void put_number(struct live_row *r, int column, double n)
{
	char text[UNITS_TEXT];
	r->key[column] = n;
	if (n >= 1)
		snprintf(r->cell[column], LIVE_CELL, "%.23s", units_count(text, (int64_t)(n + 0.5)));
	else if (n > 0)
		snprintf(r->cell[column], LIVE_CELL, "%.1f", n);
}

static void put_seconds(struct live_row *r, int column, double s)
{
	r->key[column] = s;
	if (s >= 3600)
		snprintf(r->cell[column], LIVE_CELL, "%d:%02d:%02d", (int)(s / 3600) % 100000, (int)(s / 60) % 60,
			 (int)s % 60);
	else if (s >= 60)
		snprintf(r->cell[column], LIVE_CELL, "%d:%04.1f", (int)(s / 60), s - 60 * (int)(s / 60));
	else if (s >= 0.001)
		snprintf(r->cell[column], LIVE_CELL, "%.3f s", s);
	else if (s > 0)
		snprintf(r->cell[column], LIVE_CELL, "%.0f us", s * 1e6);
}

/* Of the time of the processes that run, in calls that have ended meanwhile. */
static void put_share(struct live_row *r, int column, double time, double of)
{
	double share = of > 0 ? 100 * time / of : 0;
	r->key[column] = share;
	if (of > 0)
		snprintf(r->cell[column], LIVE_CELL, "%.0f", share > 100 ? 100 : share);
}

static void put_rates(struct live_row *r, int column, const struct live *l, const struct live_counts *since)
{
	put_bytes(r, column, live_rate(l, since->bytes[IO_READ]));
	put_bytes(r, column + 1, live_rate(l, since->bytes[IO_WRITE]));
	put_number(r, column + 2, live_rate(l, live_operations(since)));
}

/* ---- views ---- */

struct making {
	struct live_table *t;
	const struct live *l;
	const struct live_order *order;
	bool failed;
};

static bool contains(const char *text, const char *part)
{
	size_t n = strlen(part);
	for (; n && *text; text++)
		if (strncasecmp(text, part, n) == 0)
			return true;
	return !n;
}

/* NULL: filtered out, or no memory. */
static struct live_row *add_row(struct making *m, size_t of, const char *text, const char *more)
{
	struct live_table *t = m->t;
	if (!contains(text, m->order->filter) && !(more && contains(more, m->order->filter)))
		return NULL;
	if (!index_grow(&t->rows, t->n, sizeof *t->rows)) {
		m->failed = true;
		return NULL;
	}
	struct live_row *r = &t->rows[t->n++];
	*r = (struct live_row){.of = of, .text = text};
	return r;
}

/* Who it is may be asked of another machine: once. */
static const char *user_name(uid_t user)
{
	static struct {
		uid_t user;
		char name[32];
	} known;
	if (known.name[0] && known.user == user)
		return known.name;
	const struct passwd *p = getpwuid(user);
	known.user = user;
	if (p)
		snprintf(known.name, sizeof known.name, "%s", p->pw_name);
	else
		snprintf(known.name, sizeof known.name, "%u", (unsigned)user);
	return known.name;
}

static void add_jobs(struct making *m)
{
	for (size_t n = 0; n < m->l->n; n++) {
		const struct live_job *j = &m->l->jobs[n];
		struct live_row *r = add_row(m, n, j->command, j->name);
		if (!r)
			continue;
		snprintf(r->cell[0], LIVE_CELL, "%.23s", j->name);
		snprintf(r->cell[1], LIVE_CELL, "%.23s", user_name(j->owner));
		put_number(r, 2, (double)j->running);
		put_rates(r, 3, m->l, &j->since);
		put_share(r, 6, live_time(&j->since), m->l->interval * (double)j->running);
		put_seconds(r, 7, j->run_time);
	}
}

static void put_file(struct making *m, struct live_row *r, const struct live_file *f)
{
	put_rates(r, 0, m->l, &f->since);
	put_bytes(r, 3, (double)f->counts.bytes[IO_READ]);
	put_bytes(r, 4, (double)f->counts.bytes[IO_WRITE]);
	put_seconds(r, 5, live_time(&f->counts));
	put_bytes(r, 6, (double)f->size);
	put_number(r, 7, f->processes);
}

static void add_files(struct making *m, const struct live_job *j)
{
	for (size_t n = 0; n < j->nfiles; n++) {
		const struct live_file *f = &j->files[n];
		struct live_row *r = add_row(m, n, f->name, f->file_system);
		if (r)
			put_file(m, r, f);
	}
}

static const struct live_file *file_of(const struct live_job *j, uint64_t id)
{
	for (size_t n = 0; n < j->nfiles; n++)
		if (j->files[n].id == id)
			return &j->files[n];
	return NULL;
}

/* A row for each interface that it has the file by. */
static void add_files_of(struct making *m, const struct live_job *j, const char *store)
{
	for (size_t n = 0; n < j->nprocesses; n++) {
		const struct live_process *p = &j->processes[n];
		if (strcmp(p->store->path, store) != 0)
			continue;
		for (int slot = 0; slot < WRITTEN_COUNT; slot++)
			for (size_t k = 0; live_has_files(slot) && k < p->store->nrecords[slot]; k++) {
				const struct live_record *record = &p->store->records[slot][k];
				const struct live_file *file = file_of(j, record->id);
				struct live_row *r =
					file ? add_row(m, (size_t)(file - j->files), file->name, file->file_system)
					     : NULL;
				if (r)
					put_file(m, r,
						 &(struct live_file){.size = record->size,
								     .processes = 1,
								     .counts = record->counts,
								     .since = live_record_since(p, slot, k)});
			}
	}
}

/* What it did in all, or to one file; false: it does not have that. */
static bool counts_of(const struct live_process *p, uint64_t file, struct live_counts *counts,
		      struct live_counts *since)
{
	bool found = !file;
	*counts = file ? (struct live_counts){0} : p->counts;
	*since = file ? (struct live_counts){0} : p->since;
	for (int slot = 0; file && slot < WRITTEN_COUNT; slot++)
		for (size_t n = 0; written_modules[slot].descriptors && n < p->store->nrecords[slot]; n++) {
			if (p->store->records[slot][n].id != file)
				continue;
			struct live_counts more = live_record_since(p, slot, n);
			live_counts_add(counts, &p->store->records[slot][n].counts);
			live_counts_add(since, &more);
			found = true;
		}
	return found;
}

static void add_processes(struct making *m, const struct live_job *j)
{
	for (size_t n = 0; n < j->nprocesses; n++) {
		const struct live_process *p = &j->processes[n];
		const struct state_process *s = &p->store->process;
		struct live_counts counts, since;
		struct live_row *r = counts_of(p, m->order->file, &counts, &since)
					     ? add_row(m, n, p->store->command, s->host)
					     : NULL;
		if (!r)
			continue;
		r->key[0] = s->mpi_size > 0 ? -(double)s->mpi_rank : -1e18;
		if (s->mpi_size > 0)
			snprintf(r->cell[0], LIVE_CELL, "%lld", (long long)s->mpi_rank);
		r->key[1] = (double)s->pid;
		snprintf(r->cell[1], LIVE_CELL, "%lld", (long long)(p->store->pid ? p->store->pid : s->pid));
		r->key[2] = p->store->state;
		snprintf(r->cell[2], LIVE_CELL, "%c", p->store->state ? p->store->state : s->end_reason ? '-' : '?');
		put_rates(r, 3, m->l, &since);
		put_share(r, 6, live_time(&since), p->store->pid ? m->l->interval : 0);
		put_bytes(r, 7, (double)counts.bytes[IO_READ]);
		put_bytes(r, 8, (double)counts.bytes[IO_WRITE]);
		snprintf(r->cell[9], LIVE_CELL, "%.12s", s->host);
	}
}

static void add_interfaces(struct making *m, const struct live_job *j)
{
	for (size_t n = 0; n < WRITTEN_COUNT; n++) {
		const struct live_interface *i = &j->interface[n];
		struct live_row *r = i->files ? add_row(m, n, written_modules[n].key, NULL) : NULL;
		if (!r)
			continue;
		put_rates(r, 0, m->l, &i->since);
		put_bytes(r, 3, (double)i->counts.bytes[IO_READ]);
		put_bytes(r, 4, (double)i->counts.bytes[IO_WRITE]);
		put_number(r, 5, (double)i->counts.calls[IO_READ]);
		put_number(r, 6, (double)i->counts.calls[IO_WRITE]);
		put_seconds(r, 7, live_time(&i->counts));
	}
}

static const char *operation_name(int n)
{
	static char names[STATE_OP_COUNT][48];
	const struct written_operation *w = &written_operations[n];
	if (!names[n][0])
		snprintf(names[n], sizeof names[n], "%.15s %.31s", w->interface, w->name);
	return names[n];
}

static void add_operations(struct making *m, const struct live_job *j)
{
	for (int n = 0; n < STATE_OP_COUNT; n++) {
		const struct live_operation *o = &j->operation[n];
		struct live_row *r = o->count ? add_row(m, (size_t)n, operation_name(n), NULL) : NULL;
		if (!r)
			continue;
		put_number(r, 0, live_rate(m->l, o->since));
		put_number(r, 1, (double)o->count);
		put_number(r, 2, (double)o->errors);
		put_seconds(r, 3, o->time);
	}
}

/* ---- order ---- */

static struct {
	int column, texts;
	bool reversed;
} sorting;

static int in_order(const void *x, const void *y)
{
	const struct live_row *a = x, *b = y;
	int order = 0;
	if (sorting.column < sorting.texts) {
		double ka = a->key[sorting.column], kb = b->key[sorting.column];
		order = ka < kb ? 1 : ka > kb ? -1 : 0;
		if (!order)
			order = strcmp(a->cell[sorting.column], b->cell[sorting.column]);
	} else {
		order = strcmp(a->text, b->text);
	}
	order = sorting.reversed ? -order : order;
	return order ? order : a->of < b->of ? -1 : a->of > b->of;
}

/* Where nothing is asked for: what moves most. Of processes, interfaces: as they are. */
static int by_moved(const void *x, const void *y)
{
	const struct live_row *a = x, *b = y;
	double ma = a->key[sorting.column] + a->key[sorting.column + 1];
	double mb = b->key[sorting.column] + b->key[sorting.column + 1];
	if (ma != mb)
		return ma < mb ? 1 : -1;
	double ta = a->key[sorting.column + 2], tb = b->key[sorting.column + 2];
	if (ta != tb)
		return ta < tb ? 1 : -1;
	double sa = a->key[sorting.column + 3] + a->key[sorting.column + 4];
	double sb = b->key[sorting.column + 3] + b->key[sorting.column + 4];
	if (sa != sb)
		return sa < sb ? 1 : -1;
	return a->of < b->of ? -1 : a->of > b->of;
}

static void sort_rows(struct live_table *t, const struct live_order *o)
{
	int usual = views[t->view].usual;
	sorting.texts = live_view_columns(t->view);
	sorting.column = o->column >= 0 ? o->column : usual;
	sorting.reversed = o->reversed;
	if (t->n && o->column >= 0)
		qsort(t->rows, t->n, sizeof *t->rows, in_order);
	else if (t->n && usual >= 0)
		qsort(t->rows, t->n, sizeof *t->rows, by_moved);
}

bool live_table_make(struct live_table *t, const struct live *l, const struct live_job *job, enum live_view view,
		     const struct live_order *order)
{
	static void (*const of_job[LIVE_VIEWS])(struct making *, const struct live_job *) = {
		[LIVE_FILES] = add_files,
		[LIVE_PROCESSES] = add_processes,
		[LIVE_INTERFACES] = add_interfaces,
		[LIVE_OPERATIONS] = add_operations,
	};
	*t = (struct live_table){.view = view};
	struct making m = {t, l, order, false};
	if (view == LIVE_JOBS)
		add_jobs(&m);
	else if (job && view == LIVE_FILES && order->store && *order->store)
		add_files_of(&m, job, order->store);
	else if (job)
		of_job[view](&m, job);
	sort_rows(t, order);
	return !m.failed;
}

void live_table_free(struct live_table *t)
{
	log_free(t->rows);
	*t = (struct live_table){0};
}

/* ---- lines ---- */

size_t live_put_cut(struct output *out, const char *text, size_t width)
{
	char shown[OUTPUT_SHOWN];
	size_t n = 0, characters = 0;
	for (const char *at = text; *at; at += output_next(at, shown))
		characters++;
	size_t head = width > 3 ? (width - 3) / 3 : width, tail = width > 3 ? width - 3 - head : 0;
	bool cut = width && characters > width;
	size_t number = 0, written = 0;
	for (const char *at = text; *at; at += n, number++) {
		n = output_next(at, shown);
		if (cut && number >= head && number < characters - tail) {
			if (number == head && width > 3) {
				output_text(out, "...");
				written += 3;
			}
			continue;
		}
		output_text(out, shown);
		written++;
	}
	return written;
}

/* 1.2 GiB as 1.2G, and 1,234,567 as 1.2M where the column is narrower. */
static const char *shortened(char text[LIVE_CELL], const struct column *c, const char *cell, double value)
{
	size_t n = strlen(cell);
	bool is_bytes = n && cell[n - 1] == 'B', is_long = n > (size_t)c->narrow && strchr(cell, ',');
	if (c->left || !(is_bytes || is_long))
		return cell;
	int unit = 0;
	for (double step = is_bytes ? 1024 : 1000; value >= step - 0.05 && unit < 6; unit++)
		value /= step;
	static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};
	snprintf(text, LIVE_CELL, "%.*f%s", unit > 0, value, unit || !is_bytes ? units[unit] : "B");
	return text;
}

static void put_cell(struct output *out, const struct column *c, bool narrow, const char *text)
{
	output_format(out, c->left ? "%-*s " : "%*s ", narrow ? c->narrow : c->width, text);
}

/* Columns that a terminal of this width has room for, with what they take; the others are left out, from the right. */
struct fit {
	int columns;
	size_t used;
	bool narrow;
};

static struct fit fit_columns(const struct view *v, size_t width)
{
	enum { LEAST_TEXT = 20, LEAST_NARROW = 12 };
	struct fit f = {0};
	while (v->columns[f.columns].width)
		f.used += (size_t)v->columns[f.columns++].width + 1;
	if (!width || f.used + LEAST_TEXT <= width)
		return f;
	f = (struct fit){.narrow = true};
	for (; v->columns[f.columns].width; f.columns++) {
		size_t more = (size_t)v->columns[f.columns].narrow + 1;
		if (f.used + more + LEAST_NARROW > width)
			break;
		f.used += more;
	}
	return f;
}

void live_table_titles(struct output *out, enum live_view view, int sorted, size_t width)
{
	const struct view *v = &views[view];
	struct fit f = fit_columns(v, width);
	int text = live_view_columns(view);
	for (int c = 0; c < f.columns; c++) {
		char title[LIVE_CELL];
		snprintf(title, sizeof title, "%s%s", sorted == c ? "*" : "", v->columns[c].title);
		put_cell(out, &v->columns[c], f.narrow, title);
	}
	output_format(out, "%s%s", sorted == text ? "*" : "", v->columns[text].title);
}

void live_table_row(struct output *out, const struct live_table *t, size_t row, size_t width)
{
	const struct view *v = &views[t->view];
	const struct live_row *r = &t->rows[row];
	struct fit f = fit_columns(v, width);
	for (int c = 0; c < f.columns; c++) {
		const struct column *column = &v->columns[c];
		char text[LIVE_CELL];
		put_cell(out, column, f.narrow, f.narrow ? shortened(text, column, r->cell[c], r->key[c]) : r->cell[c]);
	}
	live_put_cut(out, r->text, width > f.used ? width - f.used : width ? 1 : 0);
}
