/* The tables of iolens' logs, united. */
#include <stdio.h>
#include <string.h>

#include "accesses.h"
#include "merging.h"
#include "section_copy.h"

enum { SECTIONS = 64 };

struct united {
	struct trailer_section section;
	struct text_index rows; /* of this run */
	struct text_index counts;
	size_t run;
};

struct uniting {
	struct merging *g;
	const struct merge_part *part;
	struct united *tables;
	size_t ntables;
	struct merge_origins origins;
	struct log_bytes row;
};

/* ---- rows that several parts of one log have ---- */

static int row_text(const struct trailer_table *t, uint64_t row, struct log_bytes *out)
{
	int code = 0;
	out->used = 0;
	for (size_t i = 0; code >= 0 && i < trailer_fields(t); i++) {
		const struct trailer_field *f = trailer_field_at(t, i);
		uint32_t count = f->type == TRAILER_CHAR ? 1 : f->count;
		code = log_bytes_add(out, f->name, strlen(f->name) + 1);
		for (uint32_t at = 0; code >= 0 && at < count; at++) {
			size_t n = 8;
			int64_t number = f->type < TRAILER_F64 ? trailer_i64(t, row, f, at) : 0;
			double real = f->type == TRAILER_F64 ? trailer_f64(t, row, f, at) : 0;
			const void *data = f->type == TRAILER_F64 ? (const void *)&real : &number;
			if (f->type > TRAILER_F64)
				data = trailer_text(t, row, f, at, &n);
			code = log_bytes_add(out, &n, sizeof n);
			if (code >= 0 && n)
				code = log_bytes_add(out, data, n);
		}
	}
	return code;
}

static bool add_row_key(struct united *u, uint64_t row, uint64_t part, uint64_t count)
{
	bool is_new = false;
	const uint64_t words[] = {row, part, count};
	if (text_number(&u->counts, words, sizeof words, &is_new) == SIZE_MAX)
		u->section.failed = LOG_E_MEMORY;
	return is_new || u->section.failed;
}

/* A table may have equal rows. The n-th of them in one part is the n-th of them in another. */
static bool repeats(struct uniting *x, struct united *u, const struct trailer_table *t, uint64_t row)
{
	uint64_t count = 0;
	bool is_new;
	int code = row_text(t, row, &x->row);
	size_t number = code < 0 ? SIZE_MAX : text_number(&u->rows, x->row.at, x->row.used, &is_new);
	if (number == SIZE_MAX) {
		u->section.failed = LOG_E_MEMORY;
		return true;
	}
	while (!add_row_key(u, number, x->part->given + 1, count))
		count++;
	return !add_row_key(u, number, 0, count);
}

/* ---- uniting ---- */

static void move_seconds(struct trailer_section *s, const struct trailer_table *t, uint64_t row, double shift)
{
	static const char *const times[] = {"start", "end", "mpi_start", "mpi_end", "first", "last"};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		const struct trailer_field *f = trailer_field(t, times[i]);
		const struct trailer_field *to = section_field(s, times[i]);
		double time = f && f->type == TRAILER_F64 ? trailer_f64(t, row, f, 0) : 0;
		if (to && to->type == TRAILER_F64 && (time > 0 || (f && !i)))
			section_set_f64(s, times[i], 0, time + shift);
	}
}

static void move_rank(struct trailer_section *s, const struct trailer_table *t, uint64_t row, int64_t offset)
{
	const struct trailer_field *f = trailer_field(t, "rank"), *to = section_field(s, "rank");
	int64_t rank = f && f->type == TRAILER_I64 ? trailer_i64(t, row, f, 0) : -1;
	if (to && to->type == TRAILER_I64 && rank >= 0)
		section_set_i64(s, "rank", 0, rank + offset);
}

static void forget_rows(struct united *u)
{
	text_index_free(&u->rows);
	text_index_free(&u->counts);
}

/* What several runs may say of the same machines. */
static bool is_of_nodes(const char *section)
{
	static const char *const sections[] = {"environment", "platform", "mounted", "volume", "target"};
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
		if (!strcmp(sections[i], section))
			return true;
	return false;
}

static int add_rows(struct uniting *x, struct united *u, const struct trailer_table *t)
{
	struct trailer_section *s = &u->section;
	const struct merge_run *run = &x->g->runs[x->part->run];
	bool everywhere = is_of_nodes(s->name);
	if (u->run != x->part->run && !everywhere)
		forget_rows(u);
	u->run = x->part->run;
	for (uint64_t row = 0; row < trailer_rows(t) && !s->failed; row++) {
		if ((run->parts > 1 || everywhere) && repeats(x, u, t, row))
			continue;
		section_copy_row(s, t, row, NULL, NULL);
		move_rank(s, t, row, run->rank);
		if (x->part->shift != 0)
			move_seconds(s, t, row, x->part->shift);
	}
	return s->failed;
}

static struct united *table_named(struct uniting *x, const char *name)
{
	for (size_t i = 0; i < x->ntables; i++)
		if (!strcmp(x->tables[i].section.name, name))
			return &x->tables[i];
	return NULL;
}

static bool is_left_out(const struct merging *g, const struct trailer_entry *e)
{
	static const char *const made[] = {"selection", "part", "interval", "uncounted", "sites", ACCESS_SECTION};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		if (!strcmp(e->name, made[i]))
			return true;
	/* How long it took to make a log says nothing about several. */
	return e->flags & TRAILER_IN_PLACE || (g->nruns > 1 && !strcmp(e->name, "phase"));
}

static int unite_section(struct uniting *x, struct trailer *trailer, const char *name)
{
	struct trailer_table *t;
	struct united *u = table_named(x, name);
	int code = trailer_find(trailer, name, &t, x->g->err);
	if (code < 0 || !t)
		return code;
	if (!u && x->ntables < SECTIONS) {
		u = &x->tables[x->ntables++];
		*u = (struct united){.run = SIZE_MAX};
		code = section_like(&u->section, name, t);
	}
	if (u && code >= 0)
		code = add_rows(x, u, t);
	trailer_free(t);
	return code;
}

static int unite_part(struct uniting *x)
{
	struct log *log;
	struct trailer *trailer = NULL;
	int code = merging_open(x->g, x->part, &log);
	if (code >= 0)
		code = trailer_open(&trailer, log, x->g->err);
	if (code >= 0)
		code = merge_origins_add(&x->origins, x->g, x->part, trailer);
	for (size_t i = 0; code >= 0 && i < trailer_count(trailer); i++)
		if (!is_left_out(x->g, trailer_at(trailer, i)))
			code = unite_section(x, trailer, trailer_at(trailer, i)->name);
	trailer_close(trailer);
	log_close(log);
	return code;
}

static int unite_all(struct uniting *x)
{
	int code = 0;
	for (size_t i = 0; code >= 0 && i < x->g->nparts; i++) {
		x->part = &x->g->parts[i];
		code = unite_part(x);
	}
	for (size_t i = 0; code >= 0 && i < x->ntables; i++)
		code = log_write_section(x->g->writer, &x->tables[i].section);
	for (size_t i = 0; i < x->ntables; i++) {
		section_free(&x->tables[i].section);
		forget_rows(&x->tables[i]);
	}
	return code;
}

int merge_trailer(struct merging *g)
{
	struct uniting x = {.g = g, .tables = log_alloc(SECTIONS * sizeof *x.tables)};
	int code = merge_origins_begin(&x.origins);
	g->step = "trailer";
	if (code >= 0)
		code = x.tables ? unite_all(&x) : LOG_E_MEMORY;
	log_free(x.tables);
	log_bytes_free(&x.row);
	if (code >= 0)
		code = merge_sites_write(g);
	if (code >= 0 && g->missing.nrows)
		code = log_write_section(g->writer, &g->missing);
	if (code >= 0)
		code = merge_origins_write(&x.origins, g);
	merge_origins_free(&x.origins);
	return code;
}
