/*
 * A module's records as a table, straight from its schema: one column per field. Records of fixed size are gathered in
 * small blocks and turned into columns block by block, so that both sides stay in the cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "both.h"
#include "rows.h"
#include "whole.h"

enum { BLOCK = 64, BASE = 2 /* id, rank */, WORTH_A_THREAD = 8192 };

/* Where a column's values come from. */
struct origin {
	const struct schema_field *field; /* NULL: id, rank */
	int slot;
	uint32_t offset, bytes; /* in the record */
	bool absent;            /* records of this version do not have it */
	bool sentinel;          /* -1 stands for "not measurable" */
};

struct record_rows {
	struct rows base;
	struct log_records *records; /* NULL where all of them are in `whole` */
	struct whole whole;
	size_t whole_at;
	const struct schema_module *schema;
	bool variable;
	size_t norigins;
	struct origin *origins;
	int name, mount; /* by order of adding; -1 = not wanted */
	uint8_t *block;
};

static bool is_sentinel(const struct schema_field *f)
{
	return f->reduce == REDUCE_SUM_OR_MISSING && f->type == FIELD_I64;
}

static size_t join_labels(const struct schema_field *f, bool darshan, char *out, size_t room)
{
	size_t used = 0;
	*out = 0;
	for (int i = 0; i < f->nlabels && used < room; i++) {
		const char *label = darshan ? f->labels[i].darshan : f->labels[i].name;
		used += (size_t)snprintf(out + used, room - used, "%s%s", i ? " " : "", label);
	}
	return used;
}

static const struct schema_history *history_of(const struct schema_module *m, uint32_t version)
{
	for (const struct schema_history *h = m->history; h && h->version; h++)
		if (h->version == version)
			return h;
	return NULL;
}

/* NULL if records of this version have the field. */
static const struct schema_fill *fill_of(const struct schema_history *h, uint32_t field)
{
	for (int i = 0; h && i < h->nmissing; i++)
		if (h->missing[i].field == (int)field)
			return &h->missing[i];
	return NULL;
}

static void add_field(struct form *form, const struct schema_field *f, const struct schema_fill *fill)
{
	enum column_type type = f->type == FIELD_F64 ? COLUMN_F64 : f->type == FIELD_I64 ? COLUMN_I64 : COLUMN_U64;
	char darshan[4096], elements[4096], missing[24];
	snprintf(missing, sizeof missing, "%lld", fill ? (long long)fill->value : -1);
	join_labels(f, true, darshan, sizeof darshan);
	join_labels(f, false, elements, sizeof elements);
	const struct note notes[] = {
		{"role", f->role == ROLE_NONE ? NULL : schema_role_names[f->role]},
		{"reduce", schema_reduce_names[f->reduce]},
		{"missing", fill || is_sentinel(f) ? missing : NULL},
		{"doc", f->doc},
		{"darshan", darshan},
		{"elements", f->count == 1 ? NULL : elements},
	};
	form_add(form, &(struct column_form){
			       .name = f->name,
			       .type = type,
			       .shape = f->count == 1 ? SHAPE_ONE
					: f->count    ? SHAPE_FIXED
						      : SHAPE_LIST,
			       .count = f->count,
			       .nullable = true,
			       .unit = f->unit,
			       .notes = notes,
			       .nnotes = sizeof notes / sizeof *notes,
		       });
}

static void add_names(struct form *form, const struct view *v)
{
	/* Logs of a scan share no dictionary. */
	enum column_type type = v->scan ? COLUMN_TEXT : COLUMN_CODE;
	static const char *const columns[][2] = {
		{"name", "Name of the record; bytes that are not UTF-8 as \\xNN."},
		{"mount", "Mount point the name is below."},
		{"file_system", "Type of the file system mounted there."},
	};
	for (int i = v->names ? 0 : 1; i < (v->mounts ? 3 : 1); i++) {
		struct note note = {"doc", columns[i][1]};
		form_add(form,
			 &(struct column_form){
				 .name = columns[i][0], .type = type, .nullable = true, .notes = &note, .nnotes = 1});
	}
}

static int records_form(struct form *form, const struct view *v, struct log *log, struct log_error *err)
{
	const struct schema_module *m = v->module >= 0 && v->module < LOG_MOD_COUNT ? &schema_modules[v->module] : NULL;
	if (!m || !m->version)
		return log_fail(err, LOG_E_UNSUPPORTED, LOG_NOWHERE,
				"records of this module are not decoded by this version");
	form_note(form, "module", m->key);
	form_note(form, "darshan", m->name);
	form_note(form, "doc", m->doc);
	form_plain(form, "id", COLUMN_U64, "record id", "Record id: a hash of the name.");
	form_plain(form, "rank", COLUMN_I64, "rank", "Rank the record is of; -1 = of all ranks together.");
	const struct schema_history *h = log ? history_of(m, log_container(log)->module_version[v->module]) : NULL;
	for (uint32_t i = 0; i < m->nfields; i++)
		add_field(form, &m->fields[i], fill_of(h, i));
	add_names(form, v);
	return LOG_OK;
}

static void add_origin(struct record_rows *r, struct origin o)
{
	if (o.slot != NOT_SELECTED)
		r->origins[r->norigins++] = o;
}

static int find_origins(struct record_rows *r, const struct form *form)
{
	const struct schema_module *m = r->schema;
	int module = r->base.view->module;
	const struct schema_history *h = history_of(m, log_container(r->base.handle->log)->module_version[module]);
	r->origins = calloc(m->nfields + BASE, sizeof *r->origins);
	if (!r->origins)
		return LOG_E_MEMORY;
	add_origin(r, (struct origin){.slot = form->slot[0], .offset = 0, .bytes = 8});
	add_origin(r, (struct origin){.slot = form->slot[1], .offset = 8, .bytes = 8});
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		r->variable |= !f->count;
		add_origin(r, (struct origin){
				      .field = f,
				      .slot = form->slot[BASE + i],
				      .offset = f->offset,
				      .bytes = 8u * f->count,
				      .absent = fill_of(h, i) != NULL,
				      .sentinel = is_sentinel(f),
			      });
	}
	int next = BASE + (int)m->nfields;
	r->name = r->base.view->names ? next++ : -1;
	r->mount = r->base.view->mounts ? next : -1;
	return LOG_OK;
}

static int records_open(struct rows *base, const struct form *form, struct log_error *err)
{
	struct record_rows *r = (struct record_rows *)base;
	r->schema = &schema_modules[base->view->module];
	int code = find_origins(r, form);
	if (code >= 0)
		r->block = malloc(BLOCK * (size_t)r->schema->size);
	if (code < 0 || !r->block)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	if (r->name >= 0 || r->mount >= 0)
		code = handle_index_names(base->handle, r->mount >= 0, err);
	if (code >= 0 && !r->variable && !base->view->frugal)
		r->whole = whole_records(base->handle, base->view->module, !base->view->scan);
	pthread_mutex_lock(&base->handle->lock);
	if (code >= 0 && !r->whole.bytes)
		code = log_records_open(&r->records, base->handle->log, base->view->module, err);
	pthread_mutex_unlock(&base->handle->lock);
	return code;
}

static void records_close(struct rows *base)
{
	struct record_rows *r = (struct record_rows *)base;
	log_records_close(r->records);
	whole_free(&r->whole);
	free(r->origins);
	free(r->block);
}

/* n records become the elements of a column from `row`. */
static int scatter(const struct record_rows *r, const struct origin *o, struct table *t, int64_t row,
		   const uint8_t *records, int64_t n)
{
	size_t stride = r->schema->size;
	const uint8_t *from = records + o->offset;
	uint8_t *to = table_at(t, o->slot, row);
	uint64_t missing = 0, value;
	if (o->absent) {
		memset(to, 0, (size_t)n * o->bytes);
		return table_null(t, o->slot, row, n);
	}
	if (o->bytes != 8) {
		for (int64_t i = 0; i < n; i++, from += stride, to += o->bytes)
			memcpy(to, from, o->bytes);
		return LOG_OK;
	}
	for (int64_t i = 0; i < n; i++, from += stride) {
		memcpy(&value, from, 8);
		memcpy(to + 8 * i, &value, 8);
		missing |= (uint64_t)(value == UINT64_MAX) << i;
	}
	int code = LOG_OK;
	for (int64_t i = 0; o->sentinel && missing && code >= 0; i++, missing >>= 1)
		if (missing & 1)
			code = table_null(t, o->slot, row + i, 1);
	return code;
}

static int put_text(struct table *t, int added, const struct dictionary *d, int32_t number)
{
	if (number < 0)
		return table_set_null(t, added);
	int32_t from = d->offsets[number];
	return table_set_text(t, added, (const char *)d->bytes.at + from, (size_t)(d->offsets[number + 1] - from));
}

static int put_choice(const struct record_rows *r, struct table *t, int added, struct dictionary *d, int32_t number)
{
	if (r->base.view->scan)
		return put_text(t, added, d, number);
	table_use_dictionary(t, added, d);
	table_set_i64(t, added, number < 0 ? 0 : number);
	return number < 0 ? table_set_null(t, added) : LOG_OK;
}

/* The columns that come from the name table, for the row at t->rows. */
static int put_names(const struct record_rows *r, struct table *t, uint64_t id)
{
	struct handle *h = r->base.handle;
	int32_t name = handle_name_number(h, id);
	int code = LOG_OK;
	if (r->name >= 0)
		code = put_choice(r, t, r->name, h->names, name < 0 ? -1 : h->name_code[name]);
	for (int k = 0; k < 2 && r->mount >= 0 && code >= 0; k++)
		code = put_choice(r, t, r->mount + k, h->mounts[k], name < 0 ? -1 : h->mount_code[k][name]);
	return code;
}

static int put_names_of(const struct record_rows *r, struct table *t, const uint8_t *records, int64_t n)
{
	int64_t first = t->rows;
	int code = LOG_OK;
	if (r->name < 0 && r->mount < 0)
		return code;
	for (int64_t i = 0; i < n && code >= 0; i++, t->rows++) {
		uint64_t id;
		memcpy(&id, records + (size_t)i * r->schema->size, sizeof id);
		code = put_names(r, t, id);
	}
	t->rows = first;
	return code;
}

static int out_of_memory(struct log_error *err)
{
	return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
}

/* Up to n records into the block. What came before damage counts; the error returns with the next call. */
static int64_t gather(struct record_rows *r, int64_t n, struct log_error *err)
{
	struct log_record one;
	for (int64_t i = 0; i < n; i++) {
		int code = log_records_next(r->records, &one, err);
		if (code <= 0)
			return i ? i : code;
		memcpy(r->block + (size_t)i * r->schema->size, one.data, r->schema->size);
	}
	return n;
}

static int fill_fixed(struct record_rows *r, struct table *t, struct log_error *err)
{
	for (;;) {
		int64_t n = table_room(t, BLOCK);
		if (n <= 0)
			return n < 0 ? out_of_memory(err) : 1;
		n = gather(r, n, err);
		if (n <= 0)
			return (int)n;
		int code = put_names_of(r, t, r->block, n);
		for (size_t i = 0; i < r->norigins && code >= 0; i++)
			code = scatter(r, &r->origins[i], t, t->rows, r->block, n);
		if (code < 0)
			return out_of_memory(err);
		table_grown(t, n);
	}
}

struct transposition {
	const struct record_rows *r;
	struct table *t;
	const uint8_t *records;
	int64_t n;
	int code[2];
};

/* Half of the columns: the halves share no column, and hardly a cache line of the records. */
static void transpose(void *arg, int half)
{
	struct transposition *w = arg;
	size_t middle = w->r->norigins / 2, from = half ? middle : 0, end = half ? w->r->norigins : middle;
	int code = LOG_OK;
	for (int64_t i = 0; i < w->n; i += BLOCK) {
		const uint8_t *records = w->records + (size_t)i * w->r->schema->size;
		int64_t n = w->n - i < BLOCK ? w->n - i : BLOCK;
		for (size_t k = from; k < end && code >= 0; k++)
			code = scatter(w->r, &w->r->origins[k], w->t, w->t->rows + i, records, n);
	}
	w->code[half] = code;
}

static int fill_whole(struct record_rows *r, struct table *t, struct log_error *err)
{
	int64_t left = (int64_t)((r->whole.used - r->whole_at) / r->schema->size);
	int64_t n = table_room(t, left);
	struct transposition w = {r, t, r->whole.bytes + r->whole_at, n, {0}};
	if (n < 0 || put_names_of(r, t, w.records, n) < 0)
		return out_of_memory(err);
	if (n < WORTH_A_THREAD || r->base.view->scan) {
		transpose(&w, 0);
		transpose(&w, 1);
	} else {
		both_halves(transpose, &w);
	}
	if (w.code[0] < 0 || w.code[1] < 0)
		return out_of_memory(err);
	table_grown(t, n);
	r->whole_at += (size_t)n * r->schema->size;
	return n < left;
}

/* The arrays of variable length stand behind the fixed part, in order of the fields. */
static int put_lists(struct record_rows *r, struct table *t, const struct log_record *one, struct log_error *err)
{
	const uint8_t *data = one->data;
	size_t at = r->schema->size;
	for (uint32_t i = 0; i < r->schema->nfields; i++) {
		const struct schema_field *f = &r->schema->fields[i];
		int64_t n;
		if (f->count)
			continue;
		memcpy(&n, data + r->schema->fields[f->length].offset, sizeof n);
		if (n < 0 || (uint64_t)n > (one->size - at) / 8)
			return log_fail(err, LOG_E_UNSUPPORTED, LOG_NOWHERE,
					"records of this layout are not tables yet");
		if (table_set_list(t, BASE + (int)i, data + at, (size_t)n) < 0)
			return out_of_memory(err);
		at += 8 * (size_t)n;
	}
	return LOG_OK;
}

static int fill_variable(struct record_rows *r, struct table *t, struct log_error *err)
{
	for (;;) {
		struct log_record one;
		int64_t n = table_room(t, 1);
		if (n <= 0)
			return n < 0 ? out_of_memory(err) : 1;
		int code = log_records_next(r->records, &one, err);
		if (code <= 0)
			return code;
		memcpy(r->block, one.data, r->schema->size);
		code = put_lists(r, t, &one, err);
		if (code < 0)
			return code;
		code = put_names_of(r, t, r->block, 1);
		for (size_t i = 0; i < r->norigins && code >= 0; i++)
			if (!r->origins[i].field || r->origins[i].field->count)
				code = scatter(r, &r->origins[i], t, t->rows, r->block, 1);
		if (code < 0)
			return out_of_memory(err);
		table_grown(t, 1);
	}
}

static int records_fill(struct rows *base, struct table *t, struct log_error *err)
{
	struct record_rows *r = (struct record_rows *)base;
	if (r->whole.bytes)
		return fill_whole(r, t, err);
	return r->variable ? fill_variable(r, t, err) : fill_fixed(r, t, err);
}

/* From the compressed size: too much costs nothing where memory is only reserved. */
static int64_t records_guess(const struct rows *base)
{
	const struct record_rows *r = (const struct record_rows *)base;
	if (r->whole.bytes)
		return (int64_t)((r->whole.used - r->whole_at) / r->schema->size);
	const struct log_container *c = log_container(base->handle->log);
	uint64_t stored = c->module[base->view->module].length;
	uint64_t size = schema_modules[base->view->module].size;
	return (int64_t)((stored < INT32_MAX ? stored : INT32_MAX) * 12 / (size ? size : 1) + 8);
}

const struct table_kind kind_records = {
	.name = "records",
	.form = records_form,
	.size = sizeof(struct record_rows),
	.open = records_open,
	.fill = records_fill,
	.close = records_close,
	.guess = records_guess,
};
