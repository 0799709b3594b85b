/*
 * A module's records as a table, straight from its schema: one column per field. Records of fixed size are gathered in
 * small blocks and turned into columns block by block, so that both sides stay in the cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ahead.h"
#include "rows.h"

enum { BLOCK = 32, BASE = 2 /* id, rank */, RUN = 4096 };

/* How a column is made of a record. */
enum making { MAKE_NUMBERS, MAKE_TEXT, MAKE_UUID, MAKE_LIST, MAKE_MEMBERS };

/* Where a column's values come from. */
struct origin {
	enum making making;
	const struct schema_field *field; /* NULL: id, rank */
	const struct schema_field *array; /* of MAKE_MEMBERS: what the field is a member of */
	int added, slot;
	uint32_t offset, bytes; /* in the record */
	bool absent;            /* records of this version do not have it */
	bool sentinel;          /* -1 stands for "not measurable" */
};

struct record_rows {
	struct rows base;
	struct log_records *records; /* NULL while they come from `ahead` */
	struct ahead *ahead;
	int64_t delivered;
	const struct schema_module *schema;
	bool one_by_one; /* some columns are not numbers at a fixed place */
	size_t norigins;
	struct origin *origins;
	int name, mount; /* by order of adding; -1 = not wanted */
	uint8_t *block;
	struct log_bytes scratch;
};

static bool is_sentinel(const struct schema_field *f)
{
	return f->reduce == REDUCE_SUM_OR_MISSING && f->type == FIELD_I64;
}

static enum making making_of(const struct schema_field *f, const struct schema_field *array)
{
	if (array)
		return MAKE_MEMBERS;
	if (f->type == FIELD_TEXT || f->type == FIELD_UUID)
		return f->type == FIELD_TEXT ? MAKE_TEXT : MAKE_UUID;
	return f->count ? MAKE_NUMBERS : MAKE_LIST;
}

static struct origin origin_of(const struct schema_field *f, const struct schema_field *array, int added)
{
	return (struct origin){
		.making = making_of(f, array),
		.field = f,
		.array = array,
		.added = added,
		.offset = f->offset,
		.bytes = 8u * f->count,
		.sentinel = !array && is_sentinel(f),
	};
}

/* The columns of a module's records in order, after id and rank. Returns their number; out may be NULL. */
static size_t list_origins(const struct schema_module *m, struct origin *out)
{
	size_t n = 0;
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		size_t members = f->element ? f->element->nfields : 1;
		for (size_t k = 0; k < members; k++, n++)
			if (out)
				out[n] = f->element ? origin_of(&f->element->fields[k], f, BASE + (int)n)
						    : origin_of(f, NULL, BASE + (int)n);
	}
	return n;
}

static void join_labels(const struct schema_field *f, bool darshan, char *out, size_t room)
{
	size_t used = 0;
	*out = 0;
	for (int i = 0; i < f->nlabels && used < room; i++) {
		const char *label = darshan ? f->labels[i].darshan : f->labels[i].name;
		used += (size_t)snprintf(out + used, room - used, "%s%s", i ? " " : "", label);
	}
}

static enum column_type number_type(const struct schema_field *f)
{
	return f->type == FIELD_F64 ? COLUMN_F64 : f->type == FIELD_I64 ? COLUMN_I64 : COLUMN_U64;
}

/* Texts of an array's elements are one text with commas: there are few, and short ones. */
static void add_column(struct form *form, const struct origin *o)
{
	const struct schema_field *f = o->field;
	bool text = f->type == FIELD_TEXT || f->type == FIELD_UUID;
	bool list = o->making == MAKE_LIST || o->making == MAKE_MEMBERS;
	char darshan[4096], elements[4096], name[128];
	join_labels(f, true, darshan, sizeof darshan);
	join_labels(f, false, elements, sizeof elements);
	snprintf(name, sizeof name, "%s%s%s", o->array ? o->array->name : "", o->array ? "_" : "", f->name);
	const struct note notes[] = {
		{"role", f->role == ROLE_NONE ? NULL : schema_role_names[f->role]},
		{"reduce", o->array ? NULL : schema_reduce_names[f->reduce]},
		{"missing", f->type == FIELD_U64 ? "0" : NULL},
		{"doc", f->doc},
		{"darshan", text || list ? NULL : darshan},
		{"elements", f->count == 1 || text || list ? NULL : elements},
	};
	form_add(form, &(struct column_form){
			       .name = name,
			       .type = text ? COLUMN_TEXT : number_type(f),
			       .shape = text            ? SHAPE_ONE
					: list          ? SHAPE_LIST
					: f->count == 1 ? SHAPE_ONE
							: SHAPE_FIXED,
			       .count = f->count,
			       .nullable = true,
			       .unit = f->unit,
			       .notes = notes,
			       .nnotes = sizeof notes / sizeof *notes,
		       });
}

/* The origins with nothing but their columns. */
static int add_columns(struct form *form, const struct schema_module *m)
{
	struct origin *origins = calloc(list_origins(m, NULL) + 1, sizeof *origins);
	if (!origins)
		return LOG_E_MEMORY;
	size_t n = list_origins(m, origins);
	for (size_t i = 0; i < n; i++)
		add_column(form, &origins[i]);
	free(origins);
	return LOG_OK;
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
	form_annotate(form, "module", m->key);
	form_annotate(form, "darshan", m->name);
	form_annotate(form, "doc", m->doc);
	form_plain(form, "id", COLUMN_U64, "record id", "Record id: a hash of the name.");
	form_plain(form, "rank", COLUMN_I64, "rank", "Rank the record is of; -1 = of all ranks together.");
	if (add_columns(form, m) < 0)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	add_names(form, v);
	return LOG_OK;
}

/* The columns that are wanted, and where they come from. */
static int find_origins(struct record_rows *r, const struct form *form)
{
	size_t all = list_origins(r->schema, NULL), n = 0;
	r->origins = calloc(all + BASE, sizeof *r->origins);
	if (!r->origins)
		return LOG_E_MEMORY;
	r->origins[0] = (struct origin){.added = 0, .offset = 0, .bytes = 8};
	r->origins[1] = (struct origin){.added = 1, .offset = 8, .bytes = 8};
	list_origins(r->schema, r->origins + BASE);
	for (size_t i = 0; i < all + BASE; i++) {
		struct origin o = r->origins[i];
		o.slot = form->slot[o.added];
		if (o.slot == NOT_SELECTED)
			continue;
		r->one_by_one |= o.making != MAKE_NUMBERS;
		r->origins[n++] = o;
	}
	r->norigins = n;
	int next = BASE + (int)all;
	r->name = r->base.view->names ? next++ : -1;
	r->mount = r->base.view->mounts ? next : -1;
	return LOG_OK;
}

static int open_records(struct record_rows *r, struct log_error *err)
{
	struct handle *h = r->base.handle;
	const struct view *v = r->base.view;
	pthread_mutex_lock(&h->lock);
	int code = log_records_open(&r->records, h->log, v->module, err);
	pthread_mutex_unlock(&h->lock);
	for (size_t i = 0; i < r->norigins && code >= 0; i++)
		r->origins[i].absent = r->origins[i].field && !log_records_have(r->records, r->origins[i].field);
	return code;
}

static int open_ahead(struct record_rows *r, struct log_error *err)
{
	struct handle *h = r->base.handle;
	r->ahead = r->one_by_one ? NULL : ahead_open(h, r->base.view->module, !r->base.view->scan);
	if (!r->ahead)
		return open_records(r, err);
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < r->norigins; i++)
		r->origins[i].absent = r->origins[i].field && !log_counted(h->log, r->origins[i].field);
	pthread_mutex_unlock(&h->lock);
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
	return code < 0 ? code : open_ahead(r, err);
}

static void records_close(struct rows *base)
{
	struct record_rows *r = (struct record_rows *)base;
	log_records_close(r->records);
	ahead_close(r->ahead);
	log_bytes_free(&r->scratch);
	free(r->origins);
	free(r->block);
}

/*
 * n records become the elements of a column from `row`. Zeros are not written where memory is zero: a page that is never written
 * costs nothing, and most counters of most records are zero.
 */
static int scatter(const struct record_rows *r, const struct origin *o, struct table *t, int64_t row,
		   const uint8_t *records, int64_t n)
{
	size_t stride = r->schema->size;
	const uint8_t *from = records + o->offset;
	uint8_t *to = table_at(t, o->slot, row);
	uint64_t values[BLOCK], any = 0, missing = 0;
	if (o->absent) {
		memset(to, 0, (size_t)n * o->bytes);
		return table_null(t, o->slot, row, n);
	}
	if (o->bytes != 8) {
		if (t->zeroed)
			table_ready(t, o->slot, to, o->bytes * (size_t)n);
		for (int64_t i = 0; i < n; i++, from += stride, to += o->bytes)
			memcpy(to, from, o->bytes);
		return LOG_OK;
	}
	for (int64_t i = 0; i < n; i++, from += stride) {
		memcpy(&values[i], from, 8);
		any |= values[i];
		missing |= (uint64_t)(values[i] == UINT64_MAX) << i;
	}
	if (any && t->zeroed)
		table_ready(t, o->slot, to, 8 * (size_t)n);
	if (any || !t->zeroed)
		memcpy(to, values, 8 * (size_t)n);
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

/* n records that lie one behind the other, block by block. */
static int put_records(struct record_rows *r, struct table *t, const uint8_t *records, int64_t n)
{
	int code = put_names_of(r, t, records, n);
	for (int64_t i = 0; i < n && code >= 0; i += BLOCK, records += BLOCK * (size_t)r->schema->size) {
		int64_t now = n - i < BLOCK ? n - i : BLOCK;
		for (size_t k = 0; k < r->norigins && code >= 0; k++)
			code = scatter(r, &r->origins[k], t, t->rows + i, records, now);
	}
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
	int allowed = rows_allowed(&r->base, log_records_bytes(r->records), err);
	if (allowed < 0)
		return allowed;
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
		if (put_records(r, t, r->block, n) < 0)
			return out_of_memory(err);
		table_grown(t, n);
	}
}

/* 1 = the table is full, 0 = there are no more, -1 = from here on by log_records_next. */
static int take_ahead(struct record_rows *r, struct table *t, struct log_error *err)
{
	for (;;) {
		const uint8_t *records;
		int64_t n = t->limit - t->rows < RUN ? t->limit - t->rows : RUN;
		if (!n)
			return 1;
		n = ahead_next(r->ahead, n, &records);
		if (n <= 0)
			return (int)n;
		if (rows_allowed(&r->base, (uint64_t)(r->delivered + n) * r->schema->size, err) < 0)
			return err->code;
		if (table_room(t, n) < 0 || put_records(r, t, records, n) < 0)
			return out_of_memory(err);
		table_grown(t, n);
		r->delivered += n;
	}
}

/* Past what has been delivered, to find what is wrong behind it. */
static int go_on_slowly(struct record_rows *r, struct log_error *err)
{
	struct log_record unwanted;
	ahead_close(r->ahead);
	r->ahead = NULL;
	int code = open_records(r, err);
	for (; r->delivered && code >= 0; r->delivered--)
		code = log_records_next(r->records, &unwanted, err);
	return code;
}

static int fill_ahead(struct record_rows *r, struct table *t, struct log_error *err)
{
	*err = (struct log_error){0};
	ahead_start(r->ahead);
	int code = take_ahead(r, t, err);
	ahead_stop(r->ahead);
	if (code >= 0 || err->code)
		return code;
	code = go_on_slowly(r, err);
	return code < 0 ? code : fill_fixed(r, t, err);
}

static int add_uuid(struct log_bytes *to, const uint8_t *bytes)
{
	char text[37];
	int at = 0;
	for (int i = 0; i < 16; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;
		at += snprintf(text + at, sizeof text - (size_t)at, dash ? "-%02x" : "%02x", bytes[i]);
	}
	return log_bytes_add(to, text, (size_t)at);
}

/* A member of all elements of an array, one behind the other: numbers, or texts with commas. */
static int gather_members(struct record_rows *r, const struct origin *o, const uint8_t *elements, size_t n)
{
	const struct schema_field *f = o->field;
	size_t stride = o->array->element->size;
	int code = LOG_OK;
	for (size_t i = 0; i < n && code >= 0; i++) {
		const uint8_t *at = elements + i * stride + f->offset;
		if (f->type != FIELD_TEXT) {
			code = log_bytes_add(&r->scratch, at, 8);
			continue;
		}
		code = i ? log_bytes_add(&r->scratch, ",", 1) : LOG_OK;
		if (code >= 0)
			code = log_bytes_add(&r->scratch, at, strnlen((const char *)at, 8u * f->count));
	}
	return code;
}

static int put_text_of(struct record_rows *r, struct table *t, const struct origin *o)
{
	return table_set_text(t, o->added, r->scratch.used ? (const char *)r->scratch.at : "", r->scratch.used);
}

/* A column that is no number at a fixed place, in the row at t->rows. */
static int put_other(struct record_rows *r, struct table *t, const struct origin *o, const struct log_record *one)
{
	size_t n = 0;
	const uint8_t *data = one->data;
	r->scratch.used = 0;
	if (o->absent)
		return table_set_null(t, o->added);
	if (o->making == MAKE_TEXT)
		return table_set_text(t, o->added, (const char *)data + o->offset,
				      strnlen((const char *)data + o->offset, o->bytes));
	if (o->making == MAKE_UUID)
		return add_uuid(&r->scratch, data + o->offset) < 0 ? LOG_E_MEMORY : put_text_of(r, t, o);
	const uint8_t *elements = log_record_array(one, o->array ? o->array : o->field, &n);
	if (o->making == MAKE_LIST)
		return table_set_list(t, o->added, elements, elements ? n : 0);
	if (gather_members(r, o, elements, elements ? n : 0) < 0)
		return LOG_E_MEMORY;
	if (o->field->type == FIELD_TEXT)
		return put_text_of(r, t, o);
	return table_set_list(t, o->added, r->scratch.at, r->scratch.used / 8);
}

static int fill_one_by_one(struct record_rows *r, struct table *t, struct log_error *err)
{
	for (;;) {
		struct log_record one;
		int64_t n = table_room(t, 1);
		if (n <= 0)
			return n < 0 ? out_of_memory(err) : 1;
		int code = rows_allowed(&r->base, log_records_bytes(r->records), err);
		if (code >= 0)
			code = log_records_next(r->records, &one, err);
		if (code <= 0)
			return code;
		code = put_names_of(r, t, one.data, 1);
		for (size_t i = 0; i < r->norigins && code >= 0; i++) {
			const struct origin *o = &r->origins[i];
			bool number = o->making == MAKE_NUMBERS;
			code = number ? scatter(r, o, t, t->rows, one.data, 1) : put_other(r, t, o, &one);
		}
		if (code < 0)
			return out_of_memory(err);
		table_grown(t, 1);
	}
}

static int records_fill(struct rows *base, struct table *t, struct log_error *err)
{
	struct record_rows *r = (struct record_rows *)base;
	if (r->ahead)
		return fill_ahead(r, t, err);
	return r->one_by_one ? fill_one_by_one(r, t, err) : fill_fixed(r, t, err);
}

/* From the compressed size: too much costs nothing where memory is only reserved. */
static int64_t records_guess(const struct rows *base)
{
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
