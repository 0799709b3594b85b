#include <stdio.h>

#include "show.h"
#include "trailer.h"

static void show_element(struct output *o, const struct trailer_table *t, uint64_t row, const struct trailer_field *f,
			 uint32_t at)
{
	char text[OUTPUT_NUMBER], *end = text;
	size_t n = 0;
	if (f->type == TRAILER_F64)
		n = (size_t)snprintf(text, sizeof text, "%.9g", trailer_f64(t, row, f, at));
	else if (f->type == TRAILER_I64)
		end = put_i64(text, trailer_i64(t, row, f, at));
	else if (f->type == TRAILER_U64)
		end = put_u64(text, (uint64_t)trailer_i64(t, row, f, at));
	output_bytes(o, text, n ? n : (size_t)(end - text));
}

static void show_string(struct output *o, const struct trailer_table *t, uint64_t row, const struct trailer_field *f,
			uint32_t at)
{
	size_t n;
	char piece[256];
	const char *text = trailer_text(t, row, f, at, &n);
	while (n) {
		size_t part = n < sizeof piece - 1 ? n : sizeof piece - 1;
		memcpy(piece, text, part);
		piece[part] = 0;
		put_escaped(o, piece);
		text += part;
		n -= part;
	}
}

/* Elements of an array are separated by commas. */
static void show_field(struct output *o, const struct trailer_table *t, uint64_t row, const struct trailer_field *f)
{
	bool text = f->type == TRAILER_STR || f->type == TRAILER_CHAR;
	uint32_t n = f->type == TRAILER_CHAR ? 1 : f->count;
	output_text(o, "\t");
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			output_text(o, ",");
		(text ? show_string : show_element)(o, t, row, f, i);
	}
}

static void show_name(struct show *s, const char *before, const char *name, const char *after)
{
	output_text(&s->out, before);
	put_escaped(&s->out, name);
	output_text(&s->out, after);
}

static void show_section(struct show *s, const char *name, const struct trailer_table *t)
{
	show_name(s, "\n# [", name, "]");
	for (size_t i = 0; i < trailer_fields(t); i++) {
		const struct trailer_field *f = trailer_field_at(t, i);
		show_name(s, "\t", f->name, "");
		if (*f->unit)
			show_name(s, " (", f->unit, ")");
	}
	output_text(&s->out, "\n");
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		show_name(s, "# [", name, "]");
		for (size_t i = 0; i < trailer_fields(t); i++)
			show_field(&s->out, t, row, trailer_field_at(t, i));
		output_text(&s->out, "\n");
	}
}

static void show_sections(struct show *s, struct trailer *t)
{
	for (size_t i = 0; i < trailer_count(t); i++) {
		const char *name = trailer_at(t, i)->name;
		struct trailer_table *table;
		struct log_error err;
		if (trailer_find(t, name, &table, &err) < 0)
			show_error(s, name, &err);
		else
			show_section(s, name, table);
		trailer_free(table);
	}
}

void show_trailer(struct show *s)
{
	struct trailer *t;
	struct log_error err;
	if (trailer_open(&t, s->log, &err) < 0) {
		show_error(s, "trailer", &err);
		return;
	}
	if (t)
		output_text(&s->out, "\n# iolens extension: tables, field names first\n");
	show_sections(s, t);
	trailer_close(t);
}
