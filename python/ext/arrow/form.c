#include "form.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static const char *const type_formats[] = {"l", "L", "g", "tsn:UTC", "i", "u", "i"};

struct form *form_new(const char *const *selection)
{
	struct form *f = log_alloc(sizeof *f);
	if (!f)
		return NULL;
	f->columns = log_alloc(COLUMNS_MAX * sizeof *f->columns);
	atomic_init(&f->refs, 1);
	f->selection = selection;
	f->log_column = -1;
	if (f->columns)
		return f;
	log_free(f);
	return NULL;
}

struct form *form_hold(struct form *f)
{
	atomic_fetch_add(&f->refs, 1);
	return f;
}

void form_drop(struct form *f)
{
	if (!f || atomic_fetch_sub(&f->refs, 1) > 1)
		return;
	for (size_t i = 0; i < f->ncolumns; i++) {
		log_bytes_free(&f->columns[i].metadata);
		log_free(f->columns[i].text);
	}
	log_bytes_free(&f->metadata);
	log_free(f->columns);
	log_free(f);
}

static int add_text(struct log_bytes *b, const char *text)
{
	int32_t n = (int32_t)strlen(text);
	int code = log_bytes_add(b, &n, sizeof n);
	return code < 0 ? code : log_bytes_add(b, text, (size_t)n);
}

/* Arrow's encoding: number of pairs, then length and bytes of each key and value. */
static int add_metadata(struct log_bytes *b, const char *key, const char *value)
{
	int32_t n = 0;
	if (!value || !*value)
		return LOG_OK;
	int code = b->used ? LOG_OK : log_bytes_add(b, &n, sizeof n);
	code = code < 0 ? code : add_text(b, key);
	code = code < 0 ? code : add_text(b, value);
	if (code < 0)
		return code;
	memcpy(&n, b->at, sizeof n);
	n++;
	memcpy(b->at, &n, sizeof n);
	return LOG_OK;
}

static bool is_selected(const struct form *f, const char *name)
{
	if (!f->selection)
		return true;
	for (const char *const *s = f->selection; *s; s++)
		if (!strcmp(*s, name))
			return true;
	return false;
}

static void format_of(const struct column_form *c, char *out, size_t room)
{
	if (c->shape == SHAPE_FIXED)
		snprintf(out, room, "+w:%u", c->count);
	else
		snprintf(out, room, "%s", c->shape == SHAPE_LIST ? "+l" : type_formats[c->type]);
}

static int fill_column(struct form_column *to, const struct column_form *c)
{
	*to = (struct form_column){.is = *c, .text = log_alloc(strlen(c->name) + 1)};
	if (!to->text)
		return LOG_E_MEMORY;
	strcpy(to->text, c->name);
	to->is.name = to->text;
	to->is.count = c->shape == SHAPE_FIXED ? c->count : 1;
	format_of(&to->is, to->format, sizeof to->format);
	int code = add_metadata(&to->metadata, "unit", c->unit);
	for (size_t i = 0; i < c->nnotes && code >= 0; i++)
		code = add_metadata(&to->metadata, c->notes[i].key, c->notes[i].value);
	to->is.notes = NULL;
	to->is.unit = NULL;
	return code;
}

void form_add(struct form *f, const struct column_form *column)
{
	if (f->failed || f->nadded == COLUMNS_MAX) {
		f->failed = f->failed ? f->failed : LOG_E_UNSUPPORTED;
		return;
	}
	bool wanted = is_selected(f, column->name);
	f->slot[f->nadded++] = wanted ? (int)f->ncolumns : NOT_SELECTED;
	if (wanted)
		f->failed = fill_column(&f->columns[f->ncolumns++], column);
}

void form_plain(struct form *f, const char *name, enum column_type type, const char *unit, const char *doc)
{
	struct note note = {"doc", doc};
	form_add(f, &(struct column_form){.name = name,
					  .type = type,
					  .nullable = type == COLUMN_CODE,
					  .unit = unit,
					  .notes = &note,
					  .nnotes = 1});
}

void form_annotate(struct form *f, const char *key, const char *value)
{
	if (!f->failed)
		f->failed = add_metadata(&f->metadata, key, value);
}

bool form_lacks(const struct form *f, const char *name)
{
	size_t i = 0;
	while (!f->failed && i < f->ncolumns && strcmp(f->columns[i].is.name, name))
		i++;
	return i == f->ncolumns && is_selected(f, name);
}

size_t column_width(const struct column_form *c)
{
	bool narrow = c->shape == SHAPE_LIST || c->type >= COLUMN_I32;
	return narrow ? 4 : 8 * (size_t)c->count;
}

const char *column_element_format(const struct column_form *c)
{
	return type_formats[c->type == COLUMN_CODE ? COLUMN_TEXT : c->type];
}

/* ---- as Arrow ---- */

struct schema_owner {
	struct form *form;
	struct ArrowSchema inner; /* list element or dictionary */
	struct ArrowSchema *inner_at;
};

static void release_part(struct ArrowSchema *s)
{
	if (s && s->release)
		s->release(s);
}

static void release_inner(struct ArrowSchema *s)
{
	s->release = NULL;
}

static void release_column(struct ArrowSchema *s)
{
	struct schema_owner *o = s->private_data;
	release_part(&o->inner);
	form_drop(o->form);
	free(o);
	s->release = NULL;
}

static void release_table(struct ArrowSchema *s)
{
	for (int64_t i = 0; i < s->n_children; i++) {
		release_part(s->children[i]);
		free(s->children[i]);
	}
	free(s->children);
	form_drop(s->private_data);
	s->release = NULL;
}

static int export_column(struct form *f, size_t i, struct ArrowSchema *out)
{
	const struct form_column *c = &f->columns[i];
	struct schema_owner *o = calloc(1, sizeof *o);
	if (!o)
		return ENOMEM;
	*out = (struct ArrowSchema){
		.format = c->format,
		.name = c->is.name,
		.metadata = c->metadata.used ? (const char *)c->metadata.at : NULL,
		.flags = c->is.nullable ? ARROW_FLAG_NULLABLE : 0,
		.release = release_column,
		.private_data = o,
	};
	o->form = form_hold(f);
	o->inner = (struct ArrowSchema){
		.format = column_element_format(&c->is),
		.name = "item",
		.release = release_inner,
	};
	o->inner_at = &o->inner;
	if (c->is.shape != SHAPE_ONE) {
		out->n_children = 1;
		out->children = &o->inner_at;
	} else if (c->is.type == COLUMN_CODE) {
		out->dictionary = &o->inner;
	}
	return 0;
}

int form_export(struct form *f, struct ArrowSchema *out)
{
	*out = (struct ArrowSchema){
		.format = "+s",
		.name = "",
		.metadata = f->metadata.used ? (const char *)f->metadata.at : NULL,
		.children = calloc(f->ncolumns + 1, sizeof *out->children),
		.release = release_table,
		.private_data = form_hold(f),
	};
	int code = out->children ? 0 : ENOMEM;
	for (size_t i = 0; i < f->ncolumns && !code; i++) {
		struct ArrowSchema *child = calloc(1, sizeof *child);
		code = child ? export_column(f, i, child) : ENOMEM;
		if (code)
			free(child);
		else
			out->children[out->n_children++] = child;
	}
	if (code)
		release_table(out);
	return code;
}
