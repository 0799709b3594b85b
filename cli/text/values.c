#include "values.h"

#include <stdio.h>
#include <string.h>

struct visit {
	const struct log_record *record;
	bool (*see)(void *context, const struct value *v);
	void *context;
};

static bool see_plain(const struct visit *x, const struct schema_field *f)
{
	struct value v = {.field = f, .known = log_record_has(x->record, f), .bytes = 8};
	bool whole = f->type == FIELD_TEXT || f->type == FIELD_UUID;
	for (int k = 0; k < (whole ? 1 : f->count); k++) {
		if (f->nlabels == f->count || (whole && f->nlabels))
			snprintf(v.name, sizeof v.name, "%s", f->labels[k].name);
		else if (f->count > 1 && !whole)
			snprintf(v.name, sizeof v.name, "%s[%d]", f->name, k);
		else
			snprintf(v.name, sizeof v.name, "%s", f->name);
		v.at = (const uint8_t *)x->record->data + f->offset + 8 * k;
		v.bytes = whole ? 8u * f->count : 8;
		if (!x->see(x->context, &v))
			return false;
	}
	return true;
}

static bool see_struct(const struct visit *x, const struct schema_field *f, const uint8_t *element, size_t number)
{
	for (int i = 0; i < f->element->nfields; i++) {
		const struct schema_field *g = &f->element->fields[i];
		struct value v = {.field = g, .array = f, .at = element + g->offset, .bytes = 8u * g->count};
		v.known = log_record_has(x->record, g);
		snprintf(v.name, sizeof v.name, "%s[%zu].%s", f->name, number, g->name);
		if (!x->see(x->context, &v))
			return false;
	}
	return true;
}

static bool see_array(const struct visit *x, const struct schema_field *f)
{
	size_t n;
	const uint8_t *at = log_record_array(x->record, f, &n);
	for (size_t i = 0; i < n; i++) {
		struct value v = {.field = f, .array = f, .at = at + 8 * i, .bytes = 8, .known = true};
		if (f->element) {
			if (!see_struct(x, f, at + i * f->element->size, i))
				return false;
			continue;
		}
		snprintf(v.name, sizeof v.name, "%s[%zu]", f->name, i);
		if (!x->see(x->context, &v))
			return false;
	}
	return true;
}

void values_each(const struct log_record *r, bool (*see)(void *context, const struct value *v), void *context)
{
	const struct visit x = {r, see, context};
	for (uint32_t i = 0; i < r->schema->nfields; i++) {
		const struct schema_field *f = &r->schema->fields[i];
		if (!(f->count ? see_plain(&x, f) : see_array(&x, f)))
			return;
	}
}
