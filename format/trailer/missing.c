#include "missing.h"

#include <stdio.h>
#include <string.h>

#include "reader.h"

const struct schema_field *missing_field(const struct schema_module *m, size_t number)
{
	if (number < m->nfields)
		return &m->fields[number];
	number -= m->nfields;
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_element *e = m->fields[i].element;
		if (e && number < e->nfields)
			return &e->fields[number];
		number -= e ? e->nfields : 0;
	}
	return NULL;
}

bool missing_matters(const struct schema_module *m, const struct schema_field *f)
{
	return m->layout != LAYOUT_DXT && f->valid_if < 0;
}

/* `component.flags` of a member */
static void name_of(const struct schema_module *m, size_t number, char *out, size_t room)
{
	const struct schema_field *f = missing_field(m, number);
	snprintf(out, room, "%s%s", number < m->nfields ? "" : "element.", f->name);
}

int missing_begin(struct trailer_section *s)
{
	return section_begin(s, "uncounted", "module str\ncounter str\n");
}

int missing_add(struct trailer_section *s, const struct schema_module *m, size_t number)
{
	char name[128];
	name_of(m, number, name, sizeof name);
	section_row(s);
	section_set_text(s, "module", 0, m->key);
	return section_set_text(s, "counter", 0, name);
}

static const struct schema_field *find(const char *module, const char *counter)
{
	char name[128];
	for (int k = 0; k < LOG_MOD_COUNT; k++) {
		const struct schema_module *m = &schema_modules[k];
		if (!m->key || strcmp(m->key, module) != 0)
			continue;
		for (size_t i = 0; missing_field(m, i); i++) {
			name_of(m, i, name, sizeof name);
			if (!strcmp(name, counter))
				return missing_field(m, i);
		}
	}
	return NULL;
}

static void copy_text(const struct trailer_table *t, uint64_t row, const char *field, char *out, size_t room)
{
	size_t n;
	const struct trailer_field *f = trailer_field(t, field);
	const char *text = f && f->type == TRAILER_STR ? trailer_text(t, row, f, 0, &n) : (n = 0, "");
	n = n < room - 1 ? n : room - 1;
	memcpy(out, text, n);
	out[n] = '\0';
}

static void read_table(struct log *log, const struct trailer_table *t)
{
	enum { MOST = 4096 };
	uint64_t rows = trailer_rows(t) < MOST ? trailer_rows(t) : MOST;
	log->missing = log_alloc(sizeof *log->missing + rows * sizeof(struct schema_field *));
	for (uint64_t row = 0; log->missing && row < rows; row++) {
		char module[64], counter[128];
		copy_text(t, row, "module", module, sizeof module);
		copy_text(t, row, "counter", counter, sizeof counter);
		const struct schema_field *f = find(module, counter);
		if (f)
			log->missing->field[log->missing->n++] = f;
	}
}

/* The commands that show a damaged trailer report it. */
const struct log_missing *missing_of(struct log *log)
{
	struct trailer *trailer;
	struct trailer_table *t = NULL;
	if (log->missing_read)
		return log->missing;
	log->missing_read = true;
	if (trailer_open(&trailer, log, NULL) >= 0 && trailer && trailer_entry_named(trailer, "uncounted"))
		trailer_find(trailer, "uncounted", &t, NULL);
	if (t)
		read_table(log, t);
	trailer_free(t);
	trailer_close(trailer);
	return log->missing;
}
