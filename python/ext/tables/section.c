/* Sections of the extension trailer as tables, from the schema that each carries. */
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "trailer.h"

struct section_rows {
	struct rows base;
	struct trailer *trailer;
	struct trailer_table *table;
	uint64_t next;
	/* Fields of this log for the columns, which may come from another one. */
	size_t nfields;
	const struct trailer_field **fields;
	int64_t *elements; /* of one array */
};

static int open_table(struct trailer **trailer, struct trailer_table **table, const struct view *v, struct log *log,
		      struct log_error *err)
{
	*table = NULL;
	int code = trailer_open(trailer, log, err);
	const struct trailer_entry *e = code < 0 ? NULL : trailer_entry_named(*trailer, v->section);
	if (e)
		code = handle_allows(log, e->stored, e->raw, err);
	if (code >= 0)
		code = trailer_find(*trailer, v->section, table, err);
	return code;
}

static void add_field(struct form *form, const struct trailer_field *f)
{
	static const enum column_type types[] = {COLUMN_I64, COLUMN_U64, COLUMN_F64, COLUMN_TEXT, COLUMN_TEXT};
	bool text = f->type >= TRAILER_STR;
	form_add(form, &(struct column_form){
			       .name = f->name,
			       .type = types[f->type],
			       .shape = f->count > 1 && !text ? SHAPE_FIXED : SHAPE_ONE,
			       .count = f->count,
			       .nullable = true,
			       .unit = f->unit,
		       });
}

/* Called for each log that says the columns: those are added that no log before it has. */
static int section_form(struct form *form, const struct view *v, struct log *log, struct log_error *err)
{
	struct trailer *trailer = NULL;
	struct trailer_table *table = NULL;
	int code = log ? open_table(&trailer, &table, v, log, err) : LOG_OK;
	if (code >= 0 && !table)
		code = log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "no trailer section ", v->section);
	if (!form->metadata.used)
		form_annotate(form, "section", v->section);
	for (size_t i = 0; code >= 0 && i < trailer_fields(table); i++)
		if (form_lacks(form, trailer_field_at(table, i)->name))
			add_field(form, trailer_field_at(table, i));
	trailer_free(table);
	trailer_close(trailer);
	return code;
}

/* The columns' fields in this log, by name; NULL where it has none of that name and shape. */
static int match_fields(struct section_rows *r, const struct form *form)
{
	uint32_t longest = 1;
	r->fields = calloc(form->ncolumns + 1, sizeof *r->fields);
	if (!r->fields)
		return LOG_E_MEMORY;
	r->nfields = form->ncolumns;
	for (size_t i = 0; i < form->ncolumns; i++) {
		const struct column_form *c = &form->columns[i].is;
		const struct trailer_field *f = trailer_field(r->table, c->name);
		bool same = f && (f->type >= TRAILER_STR) == (c->type == COLUMN_TEXT);
		r->fields[i] = same && (c->type == COLUMN_TEXT || f->count == c->count) ? f : NULL;
		longest = c->count > longest ? c->count : longest;
	}
	r->elements = calloc(longest, sizeof *r->elements);
	return r->elements ? LOG_OK : LOG_E_MEMORY;
}

static int section_open(struct rows *base, const struct form *form, struct log_error *err)
{
	struct section_rows *r = (struct section_rows *)base;
	int code = open_table(&r->trailer, &r->table, base->view, base->handle->log, err);
	if (code >= 0 && match_fields(r, form) < 0)
		code = log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return code;
}

static void section_close(struct rows *base)
{
	struct section_rows *r = (struct section_rows *)base;
	trailer_free(r->table);
	trailer_close(r->trailer);
	free(r->fields);
	free(r->elements);
}

static void put_numbers(struct section_rows *r, struct table *t, int slot, const struct trailer_field *f)
{
	const struct column_form *c = &t->form->columns[slot].is;
	for (uint32_t i = 0; i < c->count; i++) {
		double d = trailer_f64(r->table, r->next, f, i);
		r->elements[i] = trailer_i64(r->table, r->next, f, i);
		if (c->type == COLUMN_F64)
			memcpy(&r->elements[i], &d, sizeof d);
	}
	memcpy(table_at(t, slot, t->rows), r->elements, 8 * (size_t)c->count);
}

/* The added number of a slot: sections have no other columns before theirs, so that selection is the only difference. */
static int added_number(const struct form *f, int slot)
{
	int i = 0;
	while (f->slot[i] != slot)
		i++;
	return i;
}

static int put_field(struct section_rows *r, struct table *t, int slot)
{
	const struct trailer_field *f = r->fields[slot];
	if (slot == t->form->log_column)
		return LOG_OK;
	if (!f)
		return table_set_null(t, added_number(t->form, slot));
	if (f->type < TRAILER_STR) {
		put_numbers(r, t, slot, f);
		return LOG_OK;
	}
	size_t n;
	const char *text = trailer_text(r->table, r->next, f, 0, &n);
	return table_set_text(t, added_number(t->form, slot), text, n);
}

static int section_fill(struct rows *base, struct table *t, struct log_error *err)
{
	struct section_rows *r = (struct section_rows *)base;
	for (; r->next < trailer_rows(r->table); r->next++) {
		int64_t room = table_room(t, 1);
		int code = LOG_OK;
		if (!room)
			return 1;
		for (size_t i = 0; i < r->nfields && room > 0 && code >= 0; i++)
			code = put_field(r, t, (int)i);
		if (room < 0 || code < 0)
			return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
		table_grown(t, 1);
	}
	return 0;
}

const struct table_kind kind_section = {
	.name = "section",
	.form = section_form,
	.size = sizeof(struct section_rows),
	.open = section_open,
	.fill = section_fill,
	.close = section_close,
};
