#include "section_copy.h"

#include <stdio.h>
#include <string.h>

static size_t schema_text(const struct trailer_table *t, char *out, size_t room)
{
	static const char *const types[] = {"i64", "u64", "f64", "str", "str"};
	size_t n = 0;
	for (size_t i = 0; i < trailer_fields(t) && n < room; i++) {
		const struct trailer_field *f = trailer_field_at(t, i);
		char count[16] = "";
		if (f->count > 1 && f->type != TRAILER_CHAR)
			snprintf(count, sizeof count, "[%u]", f->count);
		n += (size_t)snprintf(out + n, room - n, "%s %s%s%s%s\n", f->name, types[f->type], count,
				      *f->unit ? " " : "", f->unit);
	}
	return n < room ? n : 0;
}

int section_like(struct trailer_section *s, const char *name, const struct trailer_table *t)
{
	char schema[8192];
	*s = (struct trailer_section){0};
	return schema_text(t, schema, sizeof schema) ? section_begin(s, name, schema) : LOG_E_DAMAGED;
}

const struct trailer_field *section_field(const struct trailer_section *s, const char *name)
{
	for (size_t i = 0; i < s->nfields; i++)
		if (!strcmp(s->fields[i].name, name))
			return &s->fields[i];
	return NULL;
}

static bool is_text(const struct trailer_field *f)
{
	return f->type == TRAILER_STR || f->type == TRAILER_CHAR;
}

static void copy_text(struct trailer_section *s, const struct trailer_table *t, uint64_t row,
		      const struct trailer_field *f, uint32_t at, section_change *change, void *context)
{
	char text[SECTION_TEXT], room[SECTION_TEXT];
	size_t n;
	const char *old = trailer_text(t, row, f, at, &n);
	n = n < sizeof text - 1 ? n : sizeof text - 1;
	memcpy(text, old, n);
	text[n] = '\0';
	const char *new = change ? change(context, f, text, room) : NULL;
	section_set_text(s, f->name, at, new ? new : text);
}

int section_copy_row(struct trailer_section *s, const struct trailer_table *t, uint64_t row, section_change *change,
		     void *context)
{
	section_row(s);
	for (size_t i = 0; i < trailer_fields(t) && !s->failed; i++) {
		const struct trailer_field *f = trailer_field_at(t, i);
		const struct trailer_field *to = section_field(s, f->name);
		uint32_t count = f->type == TRAILER_CHAR ? 1 : f->count;
		if (!to || is_text(to) != is_text(f) || (to->type == TRAILER_F64) != (f->type == TRAILER_F64))
			continue;
		for (uint32_t at = 0; at < count && (to->type == TRAILER_CHAR ? !at : at < to->count); at++) {
			if (is_text(f))
				copy_text(s, t, row, f, at, change, context);
			else if (f->type == TRAILER_F64)
				section_set_f64(s, f->name, at, trailer_f64(t, row, f, at));
			else
				section_set_i64(s, f->name, at, trailer_i64(t, row, f, at));
		}
	}
	return s->failed;
}
