/* The records of one module, out of all logs of a merge. */
#include <stdlib.h>
#include <string.h>

#include "merging.h"
#include "upgrade.h"
#include "reduce.h"
#include "missing.h"

enum { UNCOUNTED_WORDS = 16 /* of 64 fields */ };

/* ---- ranks and times of one record ---- */

static bool is_time(const struct schema_field *f)
{
	return f->type == FIELD_F64 && strstr(f->name, "timestamp");
}

static bool names_rank(const struct schema_field *f)
{
	return (f->role == ROLE_FASTEST || f->role == ROLE_SLOWEST) && !strcmp(f->unit, "rank");
}

/* 0 = nothing of the kind happened, -1 = not measured. */
static void move_time(uint8_t *at, double shift)
{
	double t;
	memcpy(&t, at, sizeof t);
	t += t > 0 ? shift : 0;
	memcpy(at, &t, sizeof t);
}

static void move_rank(uint8_t *at, int64_t offset)
{
	int64_t rank;
	memcpy(&rank, at, sizeof rank);
	rank += rank >= 0 ? offset : 0;
	memcpy(at, &rank, sizeof rank);
}

/* Of the record itself, or of one that it refers to: 0 = to none. */
static void move_id(uint8_t *at, bool refers, const struct merge_part *p)
{
	uint64_t id;
	memcpy(&id, at, sizeof id);
	id = refers && !id ? 0 : merge_id(p, id);
	memcpy(at, &id, sizeof id);
}

static void merge_place(const struct merging *g, const struct merge_part *p, const struct schema_module *m,
			uint8_t *copy)
{
	int64_t rank, offset = g->runs[p->run].rank;
	memcpy(&rank, copy + 8, sizeof rank);
	move_rank(copy + 8, offset);
	move_id(copy, false, p);
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		if (!strcmp(f->unit, "record id"))
			move_id(copy + f->offset, true, p);
		else if (f->count == 1 && is_time(f) && p->shift != 0)
			move_time(copy + f->offset, p->shift);
		else if (f->count == 1 && names_rank(f) && rank == -1)
			move_rank(copy + f->offset, offset);
	}
}

/* ---- records that become one ---- */

struct joined {
	int64_t ranks;   /* that the records are of */
	uint32_t shared; /* records of rank -1 */
	uint32_t place;  /* of the record that is made, plus 1; 0 = none (yet) */
};

struct pass {
	struct merging *g;
	const struct schema_module *module;
	int id;
	struct index ids;
	struct joined *joined;
	uint8_t *records; /* made of several */
	struct reduce_state *states;
	size_t nrecords;
	struct merge_heat heat;
	struct merge_head head;        /* of several runs */
	const struct merge_part *part; /* at hand */
	uint64_t own_id;               /* of the record at hand, in its own log */
	struct log_records *reader;
	bool header_written;
	uint64_t counted[UNCOUNTED_WORDS]; /* fields that some part has, by number */
	uint8_t *copy, *other;
	struct access_writer *accesses; /* they go behind the regions; NULL = records go into theirs */
};

static bool can_join(const struct schema_module *m)
{
	return m->layout == LAYOUT_PLAIN || m->layout == LAYOUT_LUSTRE;
}

static int count_record(struct pass *x, const struct log_record *r)
{
	bool is_new;
	size_t i = index_number(&x->ids, r->id, &is_new);
	if (i == SIZE_MAX || (is_new && !index_grow(&x->joined, i, sizeof *x->joined)))
		return LOG_E_MEMORY;
	if (is_new)
		x->joined[i] = (struct joined){0};
	x->joined[i].ranks += r->rank == -1 ? x->g->runs[x->part->run].nprocs : 1;
	x->joined[i].shared += r->rank == -1;
	return 0;
}

/* NULL = the record stays by itself. */
static struct joined *joins(const struct pass *x, const struct log_record *r)
{
	size_t i = index_find(&x->ids, r->id);
	struct joined *j = i == SIZE_MAX ? NULL : &x->joined[i];
	if (!j)
		return NULL;
	bool all = x->g->options->reduce_shared && x->g->nprocs > 1 && j->ranks == x->g->nprocs;
	return all || (r->rank == -1 && j->shared > 1) ? j : NULL;
}

static int make_place(struct pass *x, struct joined *j)
{
	if (!index_grow(&x->records, x->nrecords, x->module->size) ||
	    !index_grow(&x->states, x->nrecords, sizeof *x->states))
		return LOG_E_MEMORY;
	j->place = (uint32_t)++x->nrecords;
	return 0;
}

/* x->copy is the record. */
static int join_record(struct pass *x, const struct log_record *r)
{
	struct reduce_state state;
	struct joined *j = joins(x, r);
	if (!j || x->module->layout != LAYOUT_PLAIN)
		return 0;
	if (r->rank == -1)
		reduce_begin_shared(x->module, x->copy, &state, x->g->runs[x->part->run].nprocs);
	else
		reduce_begin(x->module, x->copy, &state);
	bool first = !j->place;
	if (first && make_place(x, j) < 0)
		return LOG_E_MEMORY;
	uint8_t *into = x->records + (size_t)(j->place - 1) * x->module->size;
	if (first) {
		memcpy(into, x->copy, x->module->size);
		x->states[j->place - 1] = state;
		x->states[j->place - 1].most = REDUCE_MOST_OF_RANKS;
	} else {
		reduce_merge(x->module, into, &x->states[j->place - 1], x->copy, &state);
	}
	return 0;
}

/* ---- records that are copied ---- */

static int write_header(struct pass *x)
{
	struct log_record r;
	int code = x->header_written ? 0 : log_records_header(x->reader, &r, x->g->err);
	if (code <= 0)
		return code;
	x->header_written = true;
	memcpy(x->other, r.data, r.size);
	merge_head_set(&x->head, x->module, x->other);
	return log_write_record(x->g->writer, x->other, r.size);
}

/* Layouts of Lustre files are not added up: the first one stays. */
static int write_first(struct pass *x, const struct log_record *r, struct joined *j)
{
	const int64_t shared = -1;
	if (j->place)
		return 0;
	j->place = 1;
	memcpy(x->copy + 8, &shared, sizeof shared);
	return log_write_record(x->g->writer, x->copy, r->size);
}

static int see_head(struct pass *x, const struct log_record *r)
{
	merge_head_see(&x->head, r);
	return 0;
}

/* Times in the trailer are in ticks: there and in regions they shall be the same. */
static double trace_shift(const struct pass *x)
{
	double ticks = x->part->shift * ACCESS_RATE;
	if (!(x->part->accesses >> x->id & 1))
		return x->part->shift;
	return (double)(int64_t)(ticks < 0 ? ticks - 0.5 : ticks + 0.5) / ACCESS_RATE;
}

static int copy_trace(struct pass *x)
{
	struct log_writer *w = x->g->writer;
	double shift = trace_shift(x);
	if (x->accesses)
		return newest_accesses(w, x->accesses, x->reader, x->copy, shift, x->g->err);
	int code = newest_record(w, x->module, x->copy, x->module->size);
	return code < 0 ? code : newest_segments(w, x->reader, shift, x->g->err);
}

static int copy_record(struct pass *x, const struct log_record *r)
{
	struct log_writer *w = x->g->writer;
	struct joined *j = joins(x, r);
	int code = write_header(x);
	if (code >= 0)
		code = merge_sites_add(x->g, x->part, x->id, r, x->own_id);
	if (code < 0)
		return code;
	if (j)
		return x->module->layout == LAYOUT_PLAIN ? 0 : write_first(x, r, j);
	if (x->module->layout == LAYOUT_HEATMAP && !x->heat.same) {
		struct log_record placed = *r;
		placed.data = x->copy;
		return log_write_record(w, x->other, merge_heat_record(&x->heat, &placed, x->part->shift, x->other));
	}
	return newest_is_trace(x->module) ? copy_trace(x) : newest_record(w, x->module, x->copy, r->size);
}

/* ---- passes over all logs ---- */

static void see_fields(struct pass *x)
{
	const struct schema_field *f;
	for (size_t i = 0; i < 64 * UNCOUNTED_WORDS && (f = missing_field(x->module, i)); i++)
		if (log_records_have(x->reader, f))
			x->counted[i / 64] |= UINT64_C(1) << i % 64;
}

/* What no part has. */
static int add_missing(struct pass *x)
{
	const struct schema_field *f;
	int code = 0;
	for (size_t i = 0; code >= 0 && i < 64 * UNCOUNTED_WORDS && (f = missing_field(x->module, i)); i++)
		if (missing_matters(x->module, f) && !(x->counted[i / 64] >> i % 64 & 1))
			code = missing_add(&x->g->missing, x->module, i);
	return code;
}

static int pass_part(struct pass *x, int (*see)(struct pass *x, const struct log_record *r))
{
	struct merging *g = x->g;
	struct log *log;
	struct log_record r;
	int code = merging_open(g, x->part, &log);
	if (code < 0)
		return code;
	code = log_records_open(&x->reader, log, x->id, g->err);
	if (code >= 0)
		see_fields(x);
	if (code >= 0 && see == copy_record)
		code = merge_sites_open(g, log);
	while (code >= 0 && (code = log_records_next(x->reader, &r, g->err)) > 0) {
		x->own_id = r.id;
		r.id = merge_id(x->part, r.id);
		if (merge_repeats(g, x->part, x->id, &r))
			continue;
		if (r.size > MERGE_RECORD) {
			code = log_fail(g->err, LOG_E_UNSUPPORTED, LOG_NOWHERE, x->module->name,
					" record that is too long for a log");
			break;
		}
		memcpy(x->copy, r.data, r.size);
		merge_place(g, x->part, x->module, x->copy);
		code = see(x, &r);
	}
	if (code >= 0 && x->module->header && see == copy_record)
		code = write_header(x);
	merge_sites_close(g);
	log_records_close(x->reader);
	log_close(log);
	return code;
}

static int pass_all(struct pass *x, int (*see)(struct pass *x, const struct log_record *r))
{
	int code = 0;
	for (size_t i = 0; code >= 0 && i < x->g->nparts; i++) {
		x->part = &x->g->parts[i];
		if (x->part->modules >> x->id & 1)
			code = pass_part(x, see);
	}
	return code;
}

static int write_joined(struct pass *x)
{
	int code = 0;
	for (size_t i = 0; code >= 0 && i < x->nrecords; i++) {
		uint8_t *record = x->records + i * x->module->size;
		reduce_end(x->module, record, &x->states[i]);
		code = log_write_record(x->g->writer, record, x->module->size);
	}
	return code;
}

static int run_passes(struct pass *x)
{
	bool joining = can_join(x->module) && (x->g->nruns > 1 || x->g->options->reduce_shared);
	int code = x->accesses ? log_write_accesses(x->g->writer, x->id)
			       : log_write_module(x->g->writer, x->id, newest_version(x->id));
	if (code >= 0 && x->module->layout == LAYOUT_HEATMAP)
		code = merge_heat_plan(x->g, &x->heat);
	if (code >= 0 && x->module->header && x->g->nruns > 1)
		code = pass_all(x, see_head);
	if (code >= 0 && joining)
		code = pass_all(x, count_record);
	if (code >= 0 && joining && x->module->layout == LAYOUT_PLAIN)
		code = pass_all(x, join_record);
	if (code >= 0)
		code = write_joined(x);
	if (code >= 0)
		code = pass_all(x, copy_record);
	return code < 0 ? code : add_missing(x);
}

static int merge_into(struct merging *g, int module, struct access_writer *accesses)
{
	struct pass x = {.g = g, .module = &schema_modules[module], .id = module, .accesses = accesses};
	g->step = x.module->name;
	x.copy = log_alloc(MERGE_RECORD);
	x.other = log_alloc(MERGE_RECORD);
	int code = x.copy && x.other ? run_passes(&x) : LOG_E_MEMORY;
	for (size_t i = 0; i < x.nrecords; i++)
		reduce_forget(&x.states[i]);
	index_free(&x.ids);
	log_free(x.joined);
	log_free(x.records);
	log_free(x.states);
	log_free(x.copy);
	log_free(x.other);
	return code;
}

int merge_module(struct merging *g, int module)
{
	uint64_t modules = 0;
	for (size_t i = 0; i < g->nparts; i++)
		modules |= g->parts[i].modules;
	return modules >> module & 1 && module < LOG_OWN_MODULES ? merge_into(g, module, NULL) : 0;
}

int merge_accesses(struct merging *g, int module)
{
	uint64_t any = 0, lacking = 0;
	for (size_t i = 0; i < g->nparts; i++) {
		any |= g->parts[i].accesses;
		lacking |= g->parts[i].modules & ~g->parts[i].accesses;
	}
	if (!(any >> module & 1) || lacking >> module & 1)
		return 0;
	struct access_writer *a = access_writer_make();
	int code = a ? merge_into(g, module, a) : LOG_E_MEMORY;
	access_writer_free(a);
	return code;
}
