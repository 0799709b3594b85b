#include "api/handle.h"

static struct trailer *trailer_of(iolens_log *log)
{
	struct log_error err = {.offset = LOG_NOWHERE};
	if (!log || !log->log)
		return NULL;
	if (!log->trailer_read)
		handle_failed(log, trailer_open(&log->trailer, log->log, &err), &err);
	log->trailer_read = true;
	return log->trailer;
}

EXPORT const char *iolens_table_name(iolens_log *log, size_t i)
{
	struct trailer *t = trailer_of(log);
	return i < trailer_count(t) ? trailer_at(t, i)->name : NULL;
}

EXPORT iolens_table *iolens_table_open(iolens_log *log, const char *name)
{
	struct log_error err = {.offset = LOG_NOWHERE};
	struct trailer_table *table = NULL;
	struct trailer *trailer = trailer_of(log);
	if (!trailer || handle_failed(log, trailer_find(trailer, name, &table, &err), &err) < 0 || !table)
		return NULL;
	iolens_table *t = log_alloc(sizeof *t);
	if (t)
		t->table = table;
	else
		trailer_free(table);
	return t;
}

EXPORT void iolens_table_close(iolens_table *t)
{
	if (!t)
		return;
	trailer_free(t->table);
	log_free(t);
}

EXPORT uint64_t iolens_rows(const iolens_table *t)
{
	return t ? trailer_rows(t->table) : 0;
}

static const struct trailer_field *column_of(const iolens_table *t, int column)
{
	bool there = t && column >= 0 && (size_t)column < trailer_fields(t->table);
	return there ? trailer_field_at(t->table, (size_t)column) : NULL;
}

EXPORT int iolens_column(const iolens_table *t, size_t i, struct iolens_field *out, size_t size)
{
	static const int32_t types[] = {
		[TRAILER_I64] = IOLENS_I64,  [TRAILER_U64] = IOLENS_U64,   [TRAILER_F64] = IOLENS_F64,
		[TRAILER_STR] = IOLENS_TEXT, [TRAILER_CHAR] = IOLENS_TEXT,
	};
	const struct trailer_field *f = i <= INT32_MAX ? column_of(t, (int)i) : NULL;
	if (!f)
		return 0;
	struct iolens_field made = {
		.name = f->name,
		.unit = f->unit,
		.doc = "",
		.type = types[f->type],
		.count = f->type == TRAILER_CHAR ? 1 : f->count,
	};
	handle_fill(out, size, &made, sizeof made);
	return 1;
}

EXPORT int iolens_column_number(const iolens_table *t, const char *name)
{
	const struct trailer_field *f;
	for (int i = 0; name && (f = column_of(t, i)); i++)
		if (!strcmp(f->name, name))
			return i;
	return -1;
}

/* NULL = there is no such cell. */
static const struct trailer_field *cell_of(const iolens_table *t, uint64_t row, int column, size_t element, bool text)
{
	const struct trailer_field *f = column_of(t, column);
	if (!f || row >= trailer_rows(t->table) || (f->type >= TRAILER_STR) != text)
		return NULL;
	return element < (f->type == TRAILER_CHAR ? 1 : f->count) ? f : NULL;
}

EXPORT int iolens_cell_i64(const iolens_table *t, uint64_t row, int column, size_t element, int64_t *out)
{
	const struct trailer_field *f = cell_of(t, row, column, element, false);
	if (f)
		*out = trailer_i64(t->table, row, f, (uint32_t)element);
	return f ? 1 : IOLENS_E_USAGE;
}

EXPORT int iolens_cell_f64(const iolens_table *t, uint64_t row, int column, size_t element, double *out)
{
	const struct trailer_field *f = cell_of(t, row, column, element, false);
	if (f)
		*out = trailer_f64(t->table, row, f, (uint32_t)element);
	return f ? 1 : IOLENS_E_USAGE;
}

EXPORT const char *iolens_cell_text(const iolens_table *t, uint64_t row, int column, size_t element, size_t *length)
{
	const struct trailer_field *f = cell_of(t, row, column, element, true);
	return f ? trailer_text(t->table, row, f, (uint32_t)element, length) : NULL;
}
