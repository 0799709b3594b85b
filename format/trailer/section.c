/* Building trailer sections: in memory for the writer, in place for the store of a running process. */
#include <string.h>

#include "crc32c.h"
#include "trailer_schema.h"

static int section_fail(struct trailer_section *s, int code)
{
	if (code < 0 && !s->failed)
		s->failed = code;
	return s->failed;
}

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static int parse_fields(struct trailer_section *s, const char *schema, size_t n)
{
	uint64_t row_size;
	size_t lines = 1;
	for (size_t at = 0; at < n; at++)
		lines += schema[at] == '\n';
	s->fields = log_memory.alloc(lines * sizeof *s->fields);
	if (!s->fields)
		return LOG_E_MEMORY;
	int64_t fields = trailer_parse_schema(schema, n, s->fields, &row_size);
	s->nfields = fields > 0 ? (size_t)fields : 0;
	s->row_size = (uint32_t)row_size;
	return fields > 0 ? LOG_OK : LOG_E_USAGE;
}

int section_begin_empty(struct trailer_section *s, const char *name, const char *schema)
{
	*s = (struct trailer_section){.coming = schema};
	if (strlen(name) >= TRAILER_NAME)
		return section_fail(s, LOG_E_USAGE);
	memcpy(s->name, name, strlen(name) + 1);
	return LOG_OK;
}

int section_need_fields(struct trailer_section *s)
{
	const char *schema = s->coming;
	if (!schema || s->failed)
		return s->failed;
	size_t n = strlen(schema);
	s->coming = NULL;
	section_fail(s, parse_fields(s, schema, n));
	section_fail(s, log_bytes_add(&s->schema, schema, n));
	return section_fail(s, log_bytes_add(&s->schema, "\0\0\0\0\0\0\0", round_up(n, 8) - n));
}

int section_begin(struct trailer_section *s, const char *name, const char *schema)
{
	int code = section_begin_empty(s, name, schema);
	return code < 0 ? code : section_need_fields(s);
}

/* As in the row before: the text is there already. */
static bool repeats(const struct trailer_section *s, const uint8_t *p, const char *text, size_t n, uint32_t *ref)
{
	if (s->nrows < 2)
		return false;
	memcpy(ref, p - s->row_size, 2 * sizeof *ref);
	return ref[1] == n && ref[0] <= s->heap.used && n <= s->heap.used - ref[0] &&
	       (!n || memcmp(s->heap.at + ref[0], text, n) == 0);
}

static int set_reference(struct trailer_section *s, void *p, const char *text, size_t n)
{
	uint32_t ref[2];
	if (repeats(s, p, text, n, ref)) {
		memcpy(p, ref, sizeof ref);
		return LOG_OK;
	}
	ref[0] = (uint32_t)s->heap.used;
	ref[1] = (uint32_t)n;
	if (s->heap.used + n > UINT32_MAX || section_fail(s, log_bytes_add(&s->heap, text, n)) < 0)
		return section_fail(s, LOG_E_MEMORY);
	memcpy(p, ref, sizeof ref);
	return LOG_OK;
}

static int add_text(struct trailer_section *s, uint8_t *p, const char *heap, size_t size)
{
	uint32_t ref[2];
	memcpy(ref, p, sizeof ref);
	if (ref[0] > size || ref[1] > size - ref[0])
		return section_fail(s, LOG_E_DAMAGED);
	return set_reference(s, p, heap + ref[0], ref[1]);
}

int section_add_rows(struct trailer_section *s, const void *rows, uint64_t nrows, const char *heap, size_t size)
{
	if (nrows && section_need_fields(s) < 0)
		return s->failed;
	for (uint64_t row = 0; row < nrows; row++) {
		if (section_add_row(s, (const uint8_t *)rows + row * s->row_size) < 0)
			return s->failed;
		uint8_t *at = s->rows.at + s->rows.used - s->row_size;
		for (size_t f = 0; f < s->nfields; f++)
			for (uint32_t n = 0; s->fields[f].type == TRAILER_STR && n < s->fields[f].count; n++)
				add_text(s, at + s->fields[f].offset + 8 * (size_t)n, heap, size);
	}
	return s->failed;
}

/* References of one field in the rows from `at` on, to strings that now stand behind others. */
static int move_references(const struct trailer_section *s, uint8_t *at, const struct trailer_field *f, uint32_t by,
			   size_t size)
{
	uint32_t ref[2];
	for (const uint8_t *end = s->rows.at + s->rows.used; at < end; at += s->row_size)
		for (uint32_t n = 0; n < f->count; n++) {
			uint8_t *p = at + f->offset + 8 * (size_t)n;
			memcpy(ref, p, sizeof ref);
			if (ref[0] > size || ref[1] > size - ref[0])
				return LOG_E_DAMAGED;
			ref[0] += by;
			memcpy(p, ref, sizeof ref);
		}
	return LOG_OK;
}

int section_append(struct trailer_section *s, const void *rows, uint64_t nrows, const char *heap, size_t size)
{
	size_t begins = s->rows.used;
	uint32_t by = (uint32_t)s->heap.used;
	if (s->failed || !nrows || section_need_fields(s) < 0)
		return s->failed;
	if (size > UINT32_MAX - s->heap.used)
		return section_fail(s, LOG_E_MEMORY);
	if (section_fail(s, log_bytes_add(&s->rows, rows, nrows * s->row_size)) < 0 ||
	    section_fail(s, log_bytes_add(&s->heap, heap, size)) < 0)
		return s->failed;
	s->nrows += nrows;
	for (size_t f = 0; f < s->nfields; f++)
		if (s->fields[f].type == TRAILER_STR)
			section_fail(s, move_references(s, s->rows.at + begins, &s->fields[f], by, size));
	return s->failed;
}

void section_free(struct trailer_section *s)
{
	log_bytes_free(&s->schema);
	log_bytes_free(&s->rows);
	log_bytes_free(&s->heap);
	log_free(s->fields);
	s->fields = NULL;
}

int section_row(struct trailer_section *s)
{
	if (section_need_fields(s) < 0 || section_fail(s, log_bytes_room(&s->rows, s->row_size)) < 0)
		return s->failed;
	memset(s->rows.at + s->rows.used, 0, s->row_size);
	s->rows.used += s->row_size;
	s->nrows++;
	return LOG_OK;
}

int section_add_row(struct trailer_section *s, const void *row)
{
	if (section_row(s) < 0)
		return s->failed;
	memcpy(s->rows.at + s->rows.used - s->row_size, row, s->row_size);
	return LOG_OK;
}

/* Element in the current row: fields are mostly set in their order. NULL marks the section as failed. */
static void *place(struct trailer_section *s, const char *field, uint32_t at, const struct trailer_field **f)
{
	for (size_t n = 0; n < s->nfields && !s->failed && s->nrows; n++) {
		*f = &s->fields[s->next];
		s->next = s->next + 1 < s->nfields ? s->next + 1 : 0;
		if ((*f)->name[0] == field[0] && !strcmp((*f)->name, field) && at < (*f)->count)
			return s->rows.at + s->rows.used - s->row_size + (*f)->offset +
			       ((*f)->type == TRAILER_CHAR ? 0 : 8 * (size_t)at);
	}
	section_fail(s, LOG_E_USAGE);
	return NULL;
}

int section_set_i64(struct trailer_section *s, const char *field, uint32_t at, int64_t value)
{
	const struct trailer_field *f;
	void *p = place(s, field, at, &f);
	if (!p || f->type > TRAILER_U64)
		return section_fail(s, LOG_E_USAGE);
	memcpy(p, &value, 8);
	return LOG_OK;
}

int section_set_f64(struct trailer_section *s, const char *field, uint32_t at, double value)
{
	const struct trailer_field *f;
	void *p = place(s, field, at, &f);
	if (!p || f->type != TRAILER_F64)
		return section_fail(s, LOG_E_USAGE);
	memcpy(p, &value, 8);
	return LOG_OK;
}

int section_set_text(struct trailer_section *s, const char *field, uint32_t at, const char *text)
{
	const struct trailer_field *f;
	void *p = place(s, field, at, &f);
	if (!p || f->type < TRAILER_STR)
		return section_fail(s, LOG_E_USAGE);
	size_t n = strlen(text);
	if (f->type == TRAILER_STR)
		return set_reference(s, p, text, n);
	memset(p, 0, f->count);
	memcpy(p, text, n < f->count ? n : f->count);
	return LOG_OK;
}

/* ---- sections in place ---- */

static bool state_shape(const char *schema, uint32_t *row_size, size_t *text)
{
	uint64_t need;
	size_t n = strlen(schema);
	if (trailer_parse_schema(schema, n, NULL, &need) <= 0)
		return false;
	*row_size = *row_size ? *row_size : (uint32_t)need;
	*text = round_up(n, 64);
	return need <= *row_size && *row_size % 8 == 0;
}

size_t section_in_place_size(const char *schema, uint32_t row_size, uint64_t capacity, size_t heap)
{
	size_t text;
	return state_shape(schema, &row_size, &text) ? round_up(text + capacity * row_size + heap, 64) : 0;
}

void *section_in_place(struct trailer_entry *entry, void *base, uint64_t offset, const char *name, const char *schema,
		       uint32_t row_size, uint64_t capacity, size_t heap)
{
	size_t text;
	if (!state_shape(schema, &row_size, &text) || strlen(name) >= TRAILER_NAME)
		return NULL;
	uint64_t size = section_in_place_size(schema, row_size, capacity, heap);
	*entry = (struct trailer_entry){
		.offset = offset,
		.stored = size,
		.raw = size,
		.heap = text + capacity * row_size,
		.schema = (uint32_t)text,
		.row_size = row_size,
		.compression = LOG_PLAIN,
		.flags = TRAILER_IN_PLACE,
	};
	memcpy(entry->name, name, strlen(name));
	memcpy((uint8_t *)base + offset, schema, strlen(schema));
	return (uint8_t *)base + offset + text;
}

void footer_in_place(struct trailer_footer *footer, uint64_t directory, size_t entries)
{
	*footer = (struct trailer_footer){
		.magic = TRAILER_MAGIC,
		.version = TRAILER_VERSION,
		.flags = TRAILER_IN_PLACE,
		.directory = directory,
		.length = entries * sizeof(struct trailer_entry),
	};
	footer->crc = log_crc32c(0, footer, offsetof(struct trailer_footer, crc));
}
