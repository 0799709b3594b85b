#include "reduce.h"

#include <string.h>

#include "frequencies.h"
#include "error.h"
#include "precision.h"
#include "reduce_plan.h"

union cell {
	int64_t i;
	uint64_t u;
	double d;
};

static union cell *cell(void *record, uint16_t at)
{
	return (union cell *)((uint8_t *)record + at);
}

static const union cell *peek(const void *record, uint16_t at)
{
	return (const union cell *)((const uint8_t *)record + at);
}

/* Unsigned arithmetic: sums of damaged logs may wrap. */
static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* ---- what a record says ---- */

static int64_t sum_of(const struct reduce_role *r, const void *record)
{
	int64_t sum = 0;
	for (int k = 0; k < r->n; k++)
		sum = add(sum, peek(record, r->at[k])->i);
	return sum;
}

static double time_of(const struct reduce_role *r, const void *record)
{
	return r->n ? peek(record, r->at[0])->d : 0;
}

void reduce_sums(const struct schema_module *m, const void *record, struct reduce_sums *s)
{
	struct reduce_plan room;
	const struct reduce_plan *p = reduce_plan(m, &room);
	*s = (struct reduce_sums){
		.opens = reduce_opens(m, record),
		.reads = sum_of(&p->reads, record),
		.writes = sum_of(&p->writes, record),
		.bytes_read = sum_of(&p->read_bytes, record),
		.bytes_written = sum_of(&p->written_bytes, record),
		.read_time = time_of(&p->times[0], record),
		.write_time = time_of(&p->times[1], record),
		.meta_time = time_of(&p->times[2], record),
	};
}

static double io_time(const struct reduce_plan *p, const void *record)
{
	return time_of(&p->times[0], record) + time_of(&p->times[1], record) + time_of(&p->times[2], record);
}

static int64_t io_bytes(const struct reduce_plan *p, const void *record)
{
	return add(sum_of(&p->read_bytes, record), sum_of(&p->written_bytes, record));
}

double reduce_io_time(const struct schema_module *m, const void *record)
{
	struct reduce_plan room;
	return io_time(reduce_plan(m, &room), record);
}

int64_t reduce_bytes(const struct schema_module *m, const void *record)
{
	struct reduce_plan room;
	return io_bytes(reduce_plan(m, &room), record);
}

/* ---- runs of cells ---- */

static void sum_cells(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		a[i].u += b[i].u;
}

static void sum_f64(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		a[i].d += b[i].d;
}

static void clamp(union cell *a, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i].i < 0)
			a[i].i = -1;
}

static void sum_or_missing(union cell *a, const union cell *b, int n)
{
	sum_cells(a, b, n);
	clamp(a, n);
}

static void max_cells(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i].i < b[i].i)
			a[i] = b[i];
}

static void max_f64(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i].d < b[i].d)
			a[i] = b[i];
}

static void min_nonzero(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		if (b[i].i > 0 && (a[i].i <= 0 || b[i].i < a[i].i))
			a[i] = b[i];
}

static void min_nonzero_f64(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		if (b[i].d > 0 && (!(a[i].d > 0) || b[i].d < a[i].d))
			a[i] = b[i];
}

static void take_first(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		if (!a[i].i)
			a[i] = b[i];
}

static void first_f64(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i].d == 0)
			a[i] = b[i];
}

static void take_any(union cell *a, const union cell *b, int n)
{
	memcpy(a, b, sizeof *a * (size_t)n);
}

/* What one of them has is better than 0: only the rank that creates a file knows its mode. */
static void take_any_known(union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		if (b[i].i)
			a[i] = b[i];
}

static void (*const merge[])(union cell *, const union cell *, int) = {
	/* clang-format off */
	[OP_SUM] = sum_cells,
	[OP_SUM_F64] = sum_f64,
	[OP_SUM_OR_MISSING] = sum_or_missing,
	[OP_MAX] = max_cells,
	[OP_MAX_F64] = max_f64,
	[OP_MIN_NONZERO] = min_nonzero,
	[OP_MIN_NONZERO_F64] = min_nonzero_f64,
	[OP_FIRST] = take_first,
	[OP_FIRST_F64] = first_f64,
	[OP_ANY] = take_any_known,
	/* clang-format on */
};

/* A counter that accompanies another comes from the operand that the other one comes from. */
static void merge_follower(const struct reduce_follower *f, void *into, const void *from)
{
	const union cell *a = peek(into, f->leader), *b = peek(from, f->leader);
	if (f->f64 ? a->d < b->d : a->i < b->i)
		take_any(cell(into, f->at), peek(from, f->at), f->n);
}

/* ---- the most frequent values ---- */

enum { TOP = COMMON_SHOWN };

/* A record's table of them. */
static inline bool empty(const struct reduce_run *r, const void *record)
{
	const union cell *values = peek(record, r->leader), *counts = peek(record, r->at);
	uint64_t any = 0;
	for (int i = 0; i < TOP; i++)
		any |= values[i].u | counts[i].u;
	return !any;
}

/* The table of one record in a list; equal values once. */
static void list_values(struct common_value *list, int *n, const union cell *values, const union cell *counts)
{
	for (int i = 0; i < TOP; i++) {
		int k = 0;
		while (k < *n && list[k].value != values[i].i)
			k++;
		if (!values[i].i || !counts[i].i)
			continue;
		if (k == *n)
			list[(*n)++] = (struct common_value){values[i].i, 0};
		list[k].count = add(list[k].count, counts[i].i);
	}
}

static void show_values(union cell *values, union cell *counts, const struct common_value *shown)
{
	for (int i = 0; i < TOP; i++) {
		values[i].i = shown[i].value;
		counts[i].i = shown[i].count;
	}
}

/* Two tables that have, or whose record may show, no more than four values. */
static void show_four(union cell *values, union cell *counts, const struct common_value *list, int n)
{
	struct common_value shown[TOP] = {{0}};
	int used = 0;
	for (int i = 0; i < n; i++)
		common_rank(shown, &used, TOP, list[i]);
	show_values(values, counts, shown);
}

/* All values of both operands beside the record; false when there is no memory. */
static bool keep_all(struct reduce_state *is, int k, const struct common_value *list, int n, const struct common *more)
{
	struct common *c = is->common[k] ? is->common[k] : common_make(is->most);
	int code = c ? 0 : LOG_E_MEMORY;
	for (int i = 0; code >= 0 && i < n; i++)
		code = common_add(c, list[i].value, list[i].count);
	if (code >= 0 && more)
		code = common_add_all(c, more);
	if (c && code < 0 && !is->common[k])
		common_free(c);
	else
		is->common[k] = c;
	return code >= 0;
}

/* The k-th such table of the record. */
__attribute__((noinline)) static void merge_top4(const struct reduce_run *r, int k, void *into, struct reduce_state *is,
						 const void *from, const struct common *more)
{
	union cell *values = cell(into, r->leader), *counts = cell(into, r->at);
	const union cell *others = peek(from, r->leader), *times = peek(from, r->at);
	struct common_value list[2 * TOP];
	int n = 0;
	bool apart = k < REDUCE_COMMON && is->most, kept = apart && is->common[k];
	if (!kept)
		list_values(list, &n, values, counts);
	if (!apart || !more)
		list_values(list, &n, others, times);
	if (!apart || (!kept && !more && n <= TOP) || (!keep_all(is, k, list, n, more) && !kept))
		show_four(values, counts, list, n);
}

/* ---- the most frequent patterns: tuples of values ---- */

enum { WIDEST = 11 };

struct common_pattern {
	union cell cell[WIDEST];
	int64_t count;
};

static size_t width(const struct reduce_run *r)
{
	return (r->at - r->leader) / sizeof(union cell) / TOP;
}

static void list_patterns(struct common_pattern *list, int *n, const union cell *values, const union cell *counts,
			  size_t width)
{
	for (int i = 0; i < TOP; i++, values += width) {
		int k = 0;
		while (k < *n && memcmp(list[k].cell, values, width * sizeof *values) != 0)
			k++;
		if (!values->i || !counts[i].i)
			continue;
		if (k == *n) {
			memcpy(list[k].cell, values, width * sizeof *values);
			list[(*n)++].count = 0;
		}
		list[k].count = add(list[k].count, counts[i].i);
	}
}

/* Ties: the larger value, and so on, whichever rank comes first. */
static bool stands_before(const struct common_pattern *a, const struct common_pattern *b, size_t width)
{
	if (a->count != b->count)
		return a->count > b->count;
	size_t i = 0;
	while (i < width - 1 && a->cell[i].i == b->cell[i].i)
		i++;
	return a->cell[i].i > b->cell[i].i;
}

__attribute__((noinline)) static void merge_patterns(const struct reduce_run *r, void *into, const void *from)
{
	union cell *values = cell(into, r->leader), *counts = cell(into, r->at);
	struct common_pattern list[2 * TOP];
	size_t w = width(r);
	int n = 0;
	list_patterns(list, &n, values, counts, w);
	list_patterns(list, &n, peek(from, r->leader), peek(from, r->at), w);
	memset(values, 0, TOP * w * sizeof *values);
	memset(counts, 0, TOP * sizeof *counts);
	for (int i = 0; i < n; i++) {
		size_t place = 0;
		for (int k = 0; k < n; k++)
			place += k != i && stands_before(&list[k], &list[i], w);
		if (place >= TOP)
			continue;
		memcpy(values + place * w, list[i].cell, w * sizeof *values);
		counts[place].i = list[i].count;
	}
}

void reduce_forget(struct reduce_state *s)
{
	for (int k = 0; k < REDUCE_COMMON; k++) {
		common_free(s->common[k]);
		s->common[k] = NULL;
	}
}

static bool kept_apart(const struct reduce_state *s)
{
	int k = 0;
	while (k < REDUCE_COMMON && !s->common[k])
		k++;
	return k < REDUCE_COMMON;
}

void reduce_choose(const struct schema_module *m, void *record, struct reduce_state *s)
{
	int k = 0;
	struct reduce_plan room;
	if (!kept_apart(s))
		return;
	const struct reduce_plan *p = reduce_plan(m, &room);
	for (const struct reduce_run *r = p->run; r < p->run + p->nruns; r++) {
		struct common_value shown[TOP];
		if (r->op != OP_TOP4 || k >= REDUCE_COMMON || !s->common[k++])
			continue;
		common_show(s->common[k - 1], shown);
		show_values(cell(record, r->leader), cell(record, r->at), shown);
	}
	reduce_forget(s);
}

/* ---- fastest and slowest ---- */

struct candidate {
	int64_t rank, bytes;
	double time;
};

static void set_extreme(const struct reduce_extreme *e, void *record, const struct candidate *c)
{
	if (!e->whole)
		return;
	cell(record, e->rank)->i = c->rank;
	cell(record, e->bytes)->i = c->bytes;
	cell(record, e->time)->d = c->time;
}

static struct candidate get_extreme(const struct reduce_extreme *e, const void *record)
{
	if (!e->whole)
		return (struct candidate){0};
	return (struct candidate){peek(record, e->rank)->i, peek(record, e->bytes)->i, peek(record, e->time)->d};
}

static void merge_fastest(const struct reduce_extreme *e, void *into, const struct candidate *c)
{
	if (e->whole && c->time < peek(into, e->time)->d)
		set_extreme(e, into, c);
}

static void merge_slowest(const struct reduce_extreme *e, void *into, const struct candidate *c)
{
	if (e->whole && c->time > peek(into, e->time)->d)
		set_extreme(e, into, c);
}

static void merge_moments(struct reduce_moments *a, const struct reduce_moments *b)
{
	if (!b->n)
		return;
	if (a->n) {
		double d = b->n / a->n * a->sum - b->sum;
		a->deviation += b->deviation + a->n / (b->n * (a->n + b->n)) * d * d;
		a->sum += b->sum;
		a->n += b->n;
	} else {
		*a = *b;
	}
}

static int64_t rank_of(const void *record)
{
	int64_t rank;
	memcpy(&rank, (const uint8_t *)record + 8, sizeof rank);
	return rank;
}

static struct candidate begin(const struct reduce_plan *p, const void *record, int64_t rank, struct reduce_state *s)
{
	struct candidate c = {rank, io_bytes(p, record), io_time(p, record)};
	*s = (struct reduce_state){.time = {1, c.time, 0}, .bytes = {1, (double)c.bytes, 0}};
	return c;
}

void reduce_begin(const struct schema_module *m, void *record, struct reduce_state *s)
{
	struct reduce_plan room;
	const struct reduce_plan *p = reduce_plan(m, &room);
	struct candidate c = begin(p, record, rank_of(record), s);
	if (c.rank == -1)
		return;
	set_extreme(&p->fastest, record, &c);
	set_extreme(&p->slowest, record, &c);
}

void reduce_begin_shared(const struct schema_module *m, const void *record, struct reduce_state *s, int64_t ranks)
{
	double n = (double)ranks;
	*s = (struct reduce_state){
		.time = {n, reduce_io_time(m, record), 0},
		.bytes = {n, (double)reduce_bytes(m, record), 0},
	};
	for (const struct schema_field *f = schema_by_role(m, ROLE_VARIANCE); f; f = schema_next(m, f)) {
		struct reduce_moments *to = strcmp(f->unit, "bytes^2") ? &s->time : &s->bytes;
		to->deviation = peek(record, f->offset)->d * n;
	}
}

static void merge_cells(const struct reduce_plan *p, void *into, struct reduce_state *is, const void *from,
			const struct reduce_state *fs)
{
	int k = 0;
	for (int f = 0; f < p->nfollowers; f++)
		merge_follower(&p->follower[f], into, from);
	for (const struct reduce_run *r = p->run; r < p->run + p->nruns; r++) {
		if (r->op == OP_TOP4) {
			bool any = !empty(r, into) || !empty(r, from);
			if (any && width(r) > 1)
				merge_patterns(r, into, from);
			else if (any)
				merge_top4(r, k, into, is, from, k < REDUCE_COMMON ? fs->common[k] : NULL);
			k++;
		} else {
			merge[r->op](cell(into, r->at), peek(from, r->at), r->n);
		}
	}
}

static void merge_state(struct reduce_state *into, const struct reduce_state *from)
{
	merge_moments(&into->time, &from->time);
	merge_moments(&into->bytes, &from->bytes);
}

void reduce_merge(const struct schema_module *m, void *into, struct reduce_state *is, const void *from,
		  const struct reduce_state *fs)
{
	struct reduce_plan room;
	const struct reduce_plan *p = reduce_plan(m, &room);
	struct candidate fast = get_extreme(&p->fastest, from), slow = get_extreme(&p->slowest, from);
	merge_cells(p, into, is, from, fs);
	merge_fastest(&p->fastest, into, &fast);
	merge_slowest(&p->slowest, into, &slow);
	merge_state(is, fs);
}

void reduce_merge_rank(const struct schema_module *m, void *into, struct reduce_state *is, const void *from,
		       int64_t rank)
{
	struct reduce_plan room;
	struct reduce_state fs;
	const struct reduce_plan *p = reduce_plan(m, &room);
	struct candidate c = begin(p, from, rank, &fs);
	merge_cells(p, into, is, from, &fs);
	merge_fastest(&p->fastest, into, &c);
	merge_slowest(&p->slowest, into, &c);
	merge_state(is, &fs);
}

static double variance(const struct reduce_moments *m)
{
	return m->n ? m->deviation / m->n : 0;
}

static void set_variances(const struct reduce_plan *p, void *record, double time, double bytes)
{
	for (int k = 0; k < p->nvariances; k++)
		cell(record, p->variance[k].at)->d = p->variance[k].bytes ? bytes : time;
}

void reduce_end(const struct schema_module *m, void *record, struct reduce_state *s)
{
	const int64_t shared = -1;
	struct reduce_plan room;
	const struct reduce_plan *p = reduce_plan(m, &room);
	reduce_choose(m, record, s);
	set_variances(p, record, variance(&s->time), variance(&s->bytes));
	memcpy((uint8_t *)record + 8, &shared, sizeof shared);
}

void reduce_to_grid(const struct schema_module *m, void *record)
{
	struct reduce_plan room;
	const struct reduce_plan *p = reduce_plan(m, &room);
	for (const struct reduce_times *t = p->clocked; t < p->clocked + p->nclocked; t++) {
		union cell *c = cell(record, t->at);
		for (int n = 0; n < t->n; n++)
			if (c[n].u)
				c[n].d = precise_time(c[n].d, t->kept);
	}
	for (int k = 0; k < p->nvariances; k++) {
		union cell *c = cell(record, p->variance[k].at);
		if (c->u && !p->variance[k].bytes)
			c->d = precise_variance(c->d);
	}
}

/* In totals the last record says it, as in darshan-parser. */
static void take_last(const struct reduce_plan *p, void *into, const void *from)
{
	for (const struct reduce_run *r = p->run; r < p->run + p->nruns; r++)
		if (r->op == OP_ANY)
			take_any(cell(into, r->at), peek(from, r->at), r->n);
}

void reduce_total_add(const struct schema_module *m, struct reduce_total *t, void *record, const void *one,
		      void *scratch)
{
	static const struct candidate none = {-1, -1, 0};
	struct reduce_plan room;
	struct reduce_state state;
	const struct reduce_plan *p = reduce_plan(m, &room);
	void *operand = t->used ? scratch : record;
	memcpy(operand, one, m->size);
	for (const struct reduce_run *r = p->run; r < p->run + p->nruns; r++)
		if (r->op == OP_SUM_OR_MISSING)
			clamp(cell(operand, r->at), r->n);
	reduce_begin(m, operand, &state);
	if (t->used) {
		t->state.most = REDUCE_MOST_OF_TOTALS;
		t->several_files |= memcmp(record, one, 8) != 0;
		reduce_merge(m, record, &t->state, operand, &state);
		take_last(p, record, operand);
	}
	if (t->several_files) {
		set_extreme(&p->fastest, record, &none);
		set_extreme(&p->slowest, record, &none);
	}
	set_variances(p, record, 0, 0);
	t->used = true;
}

void reduce_total_end(const struct schema_module *m, struct reduce_total *t, void *record)
{
	reduce_choose(m, record, &t->state);
}
