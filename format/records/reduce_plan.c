#include "reduce_plan.h"

#include <string.h>

/* ---- one kind after the other ---- */

static struct reduce_role role_of(const struct schema_module *m, enum field_role role, bool first)
{
	struct reduce_role r = {0};
	const struct schema_field *f = schema_by_role(m, role);
	if (first && f)
		r.at[r.n++] = f->offset;
	for (; !first && f; f = schema_next(m, f))
		if (f->count == 1 && f->type != FIELD_F64 && r.n < sizeof r.at / sizeof *r.at)
			r.at[r.n++] = f->offset;
	return r;
}

static struct reduce_extreme extreme_of(const struct schema_module *m, enum field_role role)
{
	struct reduce_extreme e = {0};
	int found = 0;
	for (const struct schema_field *f = schema_by_role(m, role); f; f = schema_next(m, f)) {
		int kind = f->type == FIELD_F64 ? 0 : strcmp(f->unit, "rank") == 0 ? 1 : 2;
		*(kind == 0 ? &e.time : kind == 1 ? &e.rank : &e.bytes) = f->offset;
		found |= 1 << kind;
	}
	e.whole = found == 7;
	return e;
}

static enum reduce_op op_of(const struct schema_field *f)
{
	bool f64 = f->type == FIELD_F64;
	switch (f->reduce) {
	case REDUCE_SUM:
		return f64 ? OP_SUM_F64 : OP_SUM;
	case REDUCE_SUM_OR_MISSING:
		return OP_SUM_OR_MISSING;
	case REDUCE_MAX:
	case REDUCE_LATEST:
		return f64 ? OP_MAX_F64 : OP_MAX;
	case REDUCE_MIN_NONZERO:
		return f64 ? OP_MIN_NONZERO_F64 : OP_MIN_NONZERO;
	case REDUCE_FIRST:
		return f64 ? OP_FIRST_F64 : OP_FIRST;
	case REDUCE_ANY:
		return OP_ANY;
	default:
		return OP_NONE;
	}
}

/* Of an array that is not summed up only the first element is compared. */
static uint16_t cells_of(const struct schema_field *f, enum reduce_op op)
{
	return op == OP_SUM || op == OP_SUM_F64 || op == OP_SUM_OR_MISSING || op == OP_ANY ? f->count : 1;
}

static void add_run(struct reduce_plan *p, const struct reduce_run *r)
{
	struct reduce_run *last = p->nruns ? &p->run[p->nruns - 1] : NULL;
	if (last && last->op == r->op && r->op != OP_TOP4 && last->at + 8 * last->n == r->at)
		last->n += r->n;
	else if (p->nruns < REDUCE_RUNS)
		p->run[p->nruns++] = *r;
}

static void add_field(struct reduce_plan *p, const struct schema_module *m, const struct schema_field *f)
{
	const struct schema_field *leader = f->follows >= 0 ? &m->fields[f->follows] : NULL;
	enum reduce_op op = op_of(f);
	if (f->reduce == REDUCE_MOMENTS && p->nvariances < REDUCE_VARIANCES) {
		p->variance[p->nvariances].at = f->offset;
		p->variance[p->nvariances++].bytes = strcmp(f->unit, "bytes^2") == 0;
	} else if (leader && f->reduce == REDUCE_ANY && p->nfollowers < REDUCE_FOLLOWERS) {
		p->follower[p->nfollowers++] =
			(struct reduce_follower){f->offset, f->count, leader->offset, leader->type == FIELD_F64};
	} else if (leader && f->reduce == REDUCE_TOP4) {
		add_run(p, &(struct reduce_run){OP_TOP4, f->offset, f->count, leader->offset});
	} else if (!leader && op != OP_NONE && f->count) {
		add_run(p, &(struct reduce_run){(uint8_t)op, f->offset, cells_of(f, op), 0});
	}
}

static enum precision precision_of(const struct schema_field *f)
{
	if (f->reduce == REDUCE_MIN_NONZERO || f->reduce == REDUCE_LATEST)
		return PRECISION_POINT;
	return f->reduce == REDUCE_EXTREME_RANK ? PRECISION_RANK : PRECISION_DURATION;
}

static void add_times(struct reduce_plan *p, const struct schema_field *f)
{
	enum precision kept = precision_of(f);
	struct reduce_times *last = p->nclocked ? &p->clocked[p->nclocked - 1] : NULL;
	if (f->type != FIELD_F64 || strcmp(f->unit, "seconds") != 0)
		return;
	if (last && last->kept == kept && last->at + 8 * last->n == f->offset)
		last->n += f->count;
	else if (p->nclocked < REDUCE_TIMES)
		p->clocked[p->nclocked++] = (struct reduce_times){f->offset, f->count, kept};
}

static void work_out(struct reduce_plan *p, const struct schema_module *m)
{
	memset(p, 0, offsetof(struct reduce_plan, run));
	p->opens = role_of(m, ROLE_OPENS, false);
	p->copies = role_of(m, ROLE_COPIES, false);
	p->reads = role_of(m, ROLE_READS, false);
	p->writes = role_of(m, ROLE_WRITES, false);
	p->read_bytes = role_of(m, ROLE_BYTES_READ, false);
	p->written_bytes = role_of(m, ROLE_BYTES_WRITTEN, false);
	for (int k = 0; k < 3; k++)
		p->times[k] = role_of(m, (enum field_role)(ROLE_READ_TIME + k), true);
	p->fastest = extreme_of(m, ROLE_FASTEST);
	p->slowest = extreme_of(m, ROLE_SLOWEST);
	for (uint32_t i = 0; i < m->nfields; i++)
		add_field(p, m, &m->fields[i]);
	for (uint32_t i = 0; i < m->nfields; i++)
		add_times(p, &m->fields[i]);
}

/* ---- kept, as long as there is room ---- */

enum { PLANS = 16 }; /* of the modules of a log; this stands in every observed process, locked where it locks all */

static struct {
	const struct schema_module *of;
	bool made;
} known[PLANS];

static struct reduce_plan plans[PLANS];

const struct reduce_plan *reduce_plan(const struct schema_module *m, struct reduce_plan *room)
{
	for (int k = 0; k < PLANS; k++) {
		const struct schema_module *none = NULL;
		const struct schema_module *of = __atomic_load_n(&known[k].of, __ATOMIC_ACQUIRE);
		if (of && of != m)
			continue;
		if (of && __atomic_load_n(&known[k].made, __ATOMIC_ACQUIRE))
			return &plans[k];
		if (!of &&
		    __atomic_compare_exchange_n(&known[k].of, &none, m, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			work_out(&plans[k], m);
			__atomic_store_n(&known[k].made, true, __ATOMIC_RELEASE);
			return &plans[k];
		}
		if (of == m || none == m)
			break;
	}
	work_out(room, m);
	return room;
}

static int64_t number_at(const void *record, uint16_t at)
{
	int64_t n;
	memcpy(&n, (const char *)record + at, sizeof n);
	return n;
}

/* A counter below 0 was not counted. */
int64_t reduce_opens(const struct schema_module *m, const void *record)
{
	struct reduce_plan room;
	const struct reduce_plan *p = reduce_plan(m, &room);
	int64_t opens = 0;
	for (int k = 0; k < p->opens.n; k++)
		if (__builtin_add_overflow(opens, number_at(record, p->opens.at[k]), &opens))
			return INT64_MAX;
	for (int k = 0; k < p->copies.n; k++) {
		int64_t copies = number_at(record, p->copies.at[k]);
		opens -= copies > 0 && copies <= opens ? copies : 0;
	}
	return opens;
}

/* ---- single fields, by their role ---- */

int64_t reduce_i64(const struct schema_module *m, const void *record, enum field_role role)
{
	int64_t sum = 0;
	for (const struct schema_field *f = schema_by_role(m, role); f; f = schema_next(m, f))
		if (f->count == 1 && f->type != FIELD_F64)
			sum = (int64_t)((uint64_t)sum +
					(uint64_t)number_at(record, f->offset)); /* damaged: it may wrap */
	return sum;
}

double reduce_f64(const struct schema_module *m, const void *record, enum field_role role)
{
	const struct schema_field *f = schema_by_role(m, role);
	return f ? *(const double *)((const uint8_t *)record + f->offset) : 0;
}
