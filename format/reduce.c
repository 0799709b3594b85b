#include "reduce.h"

#include <string.h>

union cell {
	int64_t i;
	uint64_t u;
	double d;
};

static union cell *cell(void *record, const struct schema_field *f)
{
	return (union cell *)((uint8_t *)record + f->offset);
}

static const union cell *peek(const void *record, const struct schema_field *f)
{
	return (const union cell *)((const uint8_t *)record + f->offset);
}

/* Unsigned arithmetic: sums of damaged logs may wrap. */
static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

int64_t reduce_i64(const struct schema_module *m, const void *record, enum field_role role)
{
	int64_t sum = 0;
	for (const struct schema_field *f = schema_by_role(m, role); f; f = schema_next(m, f))
		if (f->count == 1 && f->type != FIELD_F64)
			sum = add(sum, peek(record, f)->i);
	return sum;
}

double reduce_f64(const struct schema_module *m, const void *record, enum field_role role)
{
	const struct schema_field *f = schema_by_role(m, role);
	return f ? peek(record, f)->d : 0;
}

double reduce_io_time(const struct schema_module *m, const void *record)
{
	return reduce_f64(m, record, ROLE_READ_TIME) + reduce_f64(m, record, ROLE_WRITE_TIME) +
	       reduce_f64(m, record, ROLE_META_TIME);
}

int64_t reduce_bytes(const struct schema_module *m, const void *record)
{
	return add(reduce_i64(m, record, ROLE_BYTES_READ), reduce_i64(m, record, ROLE_BYTES_WRITTEN));
}

static bool less(const struct schema_field *f, const union cell *a, const union cell *b)
{
	return f->type == FIELD_F64 ? a->d < b->d : a->i < b->i;
}

static bool is_zero(const struct schema_field *f, const union cell *a)
{
	return f->type == FIELD_F64 ? a->d == 0 : !a->i;
}

static bool is_positive(const struct schema_field *f, const union cell *a)
{
	return f->type == FIELD_F64 ? a->d > 0 : a->i > 0;
}

static void merge_sum(const struct schema_field *f, union cell *a, const union cell *b)
{
	for (int i = 0; i < f->count; i++)
		if (f->type == FIELD_F64)
			a[i].d += b[i].d;
		else
			a[i].i = add(a[i].i, b[i].i);
}

static void clamp(const struct schema_field *f, union cell *a)
{
	for (int i = 0; i < f->count; i++)
		if (a[i].i < 0)
			a[i].i = -1;
}

static void merge_sum_or_missing(const struct schema_field *f, union cell *a, const union cell *b)
{
	merge_sum(f, a, b);
	clamp(f, a);
}

static void merge_max(const struct schema_field *f, union cell *a, const union cell *b)
{
	if (less(f, a, b))
		*a = *b;
}

static void merge_min_nonzero(const struct schema_field *f, union cell *a, const union cell *b)
{
	if (is_positive(f, b) && (!is_positive(f, a) || less(f, b, a)))
		*a = *b;
}

static void merge_first(const struct schema_field *f, union cell *a, const union cell *b)
{
	if (is_zero(f, a))
		*a = *b;
}

static void merge_any(const struct schema_field *f, union cell *a, const union cell *b)
{
	memcpy(a, b, sizeof *a * f->count);
}

/* Rules that look at one field alone; the others are below. */
static void (*const merge[REDUCE_COUNT])(const struct schema_field *, union cell *, const union cell *) = {
	/* clang-format off */
	[REDUCE_SUM] = merge_sum,
	[REDUCE_SUM_OR_MISSING] = merge_sum_or_missing,
	[REDUCE_MAX] = merge_max,
	[REDUCE_MIN_NONZERO] = merge_min_nonzero,
	[REDUCE_LATEST] = merge_max,
	[REDUCE_FIRST] = merge_first,
	[REDUCE_ANY] = merge_any,
	/* clang-format on */
};

/* A counter that accompanies another comes from the operand that the other one comes from. */
static void merge_follower(const struct schema_module *m, const struct schema_field *f, void *into, const void *from)
{
	const struct schema_field *leader = &m->fields[f->follows];
	if (less(leader, peek(into, leader), peek(from, leader)))
		merge_any(f, cell(into, f), peek(from, f));
}

enum { TOP = 4 };

struct ranked {
	int64_t value, count;
};

static void rank_add(struct ranked *list, int *n, int64_t value, int64_t count)
{
	if (!value || !count)
		return;
	for (int i = 0; i < *n; i++) {
		if (list[i].value == value) {
			list[i].count = add(list[i].count, count);
			return;
		}
	}
	list[(*n)++] = (struct ranked){value, count};
}

static bool ranks_before(const struct ranked *a, const struct ranked *b)
{
	return a->count != b->count ? a->count > b->count : a->value > b->value;
}

static void rank_sort(struct ranked *list, int n)
{
	for (int i = 1; i < n; i++)
		for (int k = i; k && ranks_before(&list[k], &list[k - 1]); k--) {
			struct ranked swap = list[k];
			list[k] = list[k - 1];
			list[k - 1] = swap;
		}
}

/* f holds the counts of the values it follows. */
static void merge_top4(const struct schema_module *m, const struct schema_field *f, void *into, const void *from)
{
	const struct schema_field *values = &m->fields[f->follows];
	struct ranked list[2 * TOP] = {0};
	int n = 0;
	for (int i = 0; i < TOP; i++)
		rank_add(list, &n, peek(into, values)[i].i, peek(into, f)[i].i);
	for (int i = 0; i < TOP; i++)
		rank_add(list, &n, peek(from, values)[i].i, peek(from, f)[i].i);
	rank_sort(list, n);
	for (int i = 0; i < TOP; i++) {
		cell(into, values)[i].i = i < n ? list[i].value : 0;
		cell(into, f)[i].i = i < n ? list[i].count : 0;
	}
}

/* Fastest or slowest: three fields of one role. */
struct extreme {
	const struct schema_field *rank, *bytes, *time;
};

static struct extreme find_extreme(const struct schema_module *m, enum field_role role)
{
	struct extreme e = {0};
	for (const struct schema_field *f = schema_by_role(m, role); f; f = schema_next(m, f)) {
		if (f->type == FIELD_F64)
			e.time = f;
		else if (!strcmp(f->unit, "rank"))
			e.rank = f;
		else
			e.bytes = f;
	}
	return e;
}

static bool is_whole(const struct extreme *e)
{
	return e->rank && e->bytes && e->time;
}

static void set_extreme(const struct extreme *e, void *record, int64_t rank, int64_t bytes, double time)
{
	if (!is_whole(e))
		return;
	cell(record, e->rank)->i = rank;
	cell(record, e->bytes)->i = bytes;
	cell(record, e->time)->d = time;
}

static void merge_extreme(const struct schema_module *m, enum field_role role, void *into, const void *from)
{
	struct extreme e = find_extreme(m, role);
	if (!is_whole(&e))
		return;
	double a = peek(into, e.time)->d, b = peek(from, e.time)->d;
	if (role == ROLE_FASTEST ? b < a : b > a)
		set_extreme(&e, into, peek(from, e.rank)->i, peek(from, e.bytes)->i, b);
}

static void set_extremes(const struct schema_module *m, void *record, int64_t rank, int64_t bytes, double time)
{
	struct extreme fastest = find_extreme(m, ROLE_FASTEST), slowest = find_extreme(m, ROLE_SLOWEST);
	set_extreme(&fastest, record, rank, bytes, time);
	set_extreme(&slowest, record, rank, bytes, time);
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

void reduce_begin(const struct schema_module *m, void *record, struct reduce_state *s)
{
	double time = reduce_io_time(m, record);
	int64_t bytes = reduce_bytes(m, record);
	s->time = (struct reduce_moments){1, time, 0};
	s->bytes = (struct reduce_moments){1, (double)bytes, 0};
	if (rank_of(record) != -1)
		set_extremes(m, record, rank_of(record), bytes, time);
}

void reduce_begin_shared(const struct schema_module *m, const void *record, struct reduce_state *s, int64_t ranks)
{
	double n = (double)ranks;
	s->time = (struct reduce_moments){n, reduce_io_time(m, record), 0};
	s->bytes = (struct reduce_moments){n, (double)reduce_bytes(m, record), 0};
	for (const struct schema_field *f = schema_by_role(m, ROLE_VARIANCE); f; f = schema_next(m, f)) {
		struct reduce_moments *to = strcmp(f->unit, "bytes^2") ? &s->time : &s->bytes;
		to->deviation = peek(record, f)->d * n;
	}
}

void reduce_merge(const struct schema_module *m, void *into, struct reduce_state *is, const void *from,
		  const struct reduce_state *fs)
{
	for (uint32_t i = 0; i < m->nfields; i++)
		if (m->fields[i].follows >= 0 && m->fields[i].reduce == REDUCE_ANY)
			merge_follower(m, &m->fields[i], into, from);
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		if (f->reduce == REDUCE_TOP4 && f->follows >= 0)
			merge_top4(m, f, into, from);
		else if (merge[f->reduce] && f->follows < 0 && f->count)
			merge[f->reduce](f, cell(into, f), peek(from, f));
	}
	merge_extreme(m, ROLE_FASTEST, into, from);
	merge_extreme(m, ROLE_SLOWEST, into, from);
	merge_moments(&is->time, &fs->time);
	merge_moments(&is->bytes, &fs->bytes);
}

static double variance(const struct reduce_moments *m)
{
	return m->n ? m->deviation / m->n : 0;
}

static void set_variances(const struct schema_module *m, void *record, double time, double bytes)
{
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		if (f->reduce == REDUCE_MOMENTS)
			cell(record, f)->d = strcmp(f->unit, "bytes^2") ? time : bytes;
	}
}

void reduce_end(const struct schema_module *m, void *record, const struct reduce_state *s)
{
	const int64_t shared = -1;
	set_variances(m, record, variance(&s->time), variance(&s->bytes));
	memcpy((uint8_t *)record + 8, &shared, sizeof shared);
}

void reduce_total_add(const struct schema_module *m, struct reduce_total *t, void *record, const void *one,
		      void *scratch)
{
	struct reduce_state state;
	void *operand = t->used ? scratch : record;
	memcpy(operand, one, m->size);
	for (uint32_t i = 0; i < m->nfields; i++)
		if (m->fields[i].reduce == REDUCE_SUM_OR_MISSING)
			clamp(&m->fields[i], cell(operand, &m->fields[i]));
	reduce_begin(m, operand, &state);
	if (t->used) {
		t->several_files |= memcmp(record, one, 8) != 0;
		reduce_merge(m, record, &t->state, operand, &state);
	}
	if (t->several_files)
		set_extremes(m, record, -1, -1, 0);
	set_variances(m, record, 0, 0);
	t->used = true;
}
