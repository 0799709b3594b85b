#include "directory.h"

#include <string.h>

#include "columns.h"
#include "crc32c.h"
#include "text_code.h"
#include "trailer_schema.h"

enum { SMALL_ROWS = 8192, TEXTS_LIMIT = 1 << 20, SECTIONS_MAX = 16384 };

/* ---- writing ---- */

bool directory_takes(const struct trailer_section *s)
{
	return s->rows.used <= SMALL_ROWS && s->heap.used <= SMALL_ROWS && s->nfields;
}

/* The lines of a schema. */
static struct word *lines_of(const struct trailer_section *s)
{
	const char *at = (const char *)s->schema.at, *end = at + s->schema.used;
	struct word *line = log_alloc(s->nfields * sizeof *line);
	for (size_t n = 0; line && n < s->nfields; n++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		line[n] = (struct word){at, (size_t)(stop - at)};
		at = stop + 1;
	}
	return line;
}

static bool follow(uint64_t number, const struct word *line, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		struct word word = dictionary_at(number + 1 + k);
		if (!word.at || word.length != line[k].length || memcmp(word.at, line[k].at, word.length) != 0)
			return false;
	}
	return true;
}

/* The word of that name behind which those lines are, or any. */
static uint64_t find_name(struct word name, const struct word *line, size_t n, bool *known)
{
	uint64_t first = dictionary_find(name, 0), next = first, number = DICTIONARY_NONE;
	*known = false;
	while (next != DICTIONARY_NONE && !*known && (number == DICTIONARY_NONE || next > number)) {
		number = next;
		*known = follow(number, line, n);
		next = dictionary_find(name, number + 1);
	}
	return *known ? number : first;
}

static int add_name(struct log_bytes *out, struct word name, uint64_t number)
{
	if (number != DICTIONARY_NONE)
		return add_number(out, number + 1);
	int code = add_number(out, 0);
	code = code < 0 ? code : add_number(out, name.length);
	return code < 0 ? code : log_bytes_add(out, name.at, name.length);
}

/* Numbers of texts: each as what it is more than the one before in the row, and one more. */
static int number_texts(struct directory *d, const struct trailer_section *s, uint64_t *row)
{
	uint64_t expected = 0;
	for (size_t f = 0; f < s->nfields; f++)
		for (uint32_t k = 0; s->fields[f].type == TRAILER_STR && k < s->fields[f].count; k++) {
			uint64_t *word = &row[s->fields[f].offset / 8 + k];
			uint32_t ref[2];
			bool is_new;
			memcpy(ref, word, sizeof ref);
			if (ref[0] > s->heap.used || ref[1] > s->heap.used - ref[0])
				return LOG_E_USAGE;
			const void *text = ref[1] ? (const void *)(s->heap.at + ref[0]) : "";
			size_t number = text_number(&d->texts, text, ref[1], &is_new);
			if (number == SIZE_MAX)
				return LOG_E_MEMORY;
			*word = s->nrows == 1 ? number - expected : number;
			expected = number + 1;
		}
	return LOG_OK;
}

static int add_columns(struct directory *d, const struct trailer_section *s)
{
	uint32_t width = s->row_size / 8;
	uint64_t *rows = log_memory.alloc(s->rows.used + 8);
	bool *real = log_alloc(width);
	int code = rows && real ? LOG_OK : LOG_E_MEMORY;
	if (code >= 0 && s->rows.used)
		memcpy(rows, s->rows.at, s->rows.used);
	for (uint64_t row = 0; row < s->nrows && code >= 0; row++)
		code = number_texts(d, s, rows + row * width);
	if (code >= 0) {
		compact_mark_real(real, s->fields, s->nfields);
		if (s->nrows == 1)
			code = columns_write_row(&d->columns, rows, width, real);
		else if (s->nrows)
			code = columns_write(&d->columns, rows, s->nrows, width, real);
	}
	log_free(rows);
	log_free(real);
	return code;
}

static int add_head(struct directory *d, const struct trailer_section *s, size_t stored)
{
	struct word name = {s->name, strlen(s->name)}, *line = lines_of(s);
	bool known;
	if (!line)
		return LOG_E_MEMORY;
	struct log_bytes *out = &d->entries;
	uint64_t number = find_name(name, line, s->nfields, &known);
	int code = add_name(out, name, number);
	code = code < 0 ? code : add_number(out, s->nrows << 1 | 1);
	code = code < 0 ? code : add_number(out, stored);
	code = code < 0 ? code : add_number(out, s->nfields << 1 | known);
	if (code >= 0 && !known)
		code = string_table_write(out, line, s->nfields);
	log_free(line);
	return code;
}

int directory_add_table(struct directory *d, const struct trailer_section *s)
{
	size_t begins = d->columns.used;
	int code = add_columns(d, s);
	code = code < 0 ? code : add_head(d, s, d->columns.used - begins);
	d->count += code >= 0;
	return code;
}

int directory_add_section(struct directory *d, const char *name, const struct compact_part *part)
{
	struct word word = {name, strlen(name)};
	int code = add_name(&d->entries, word, dictionary_find(word, 0));
	const uint64_t numbers[] = {part->rows << 1, part->stored, part->raw};
	for (size_t k = 0; k < 3 && code >= 0; k++)
		code = add_number(&d->entries, numbers[k]);
	code = code < 0 ? code : log_bytes_add(&d->entries, &part->crc, sizeof part->crc);
	d->count += code >= 0;
	return code;
}

static int add_texts(struct directory *d, struct log_bytes *out)
{
	size_t n = d->texts.hashes.used;
	struct word *text = log_alloc(n * sizeof *text);
	for (size_t k = 0; text && k < n; k++)
		text[k] = (struct word){(const char *)d->texts.bytes.at + d->texts.places[k].at,
					d->texts.places[k].length};
	int code = text ? add_number(out, n) : LOG_E_MEMORY;
	code = code < 0 ? code : text_code_write(out, text, n);
	log_free(text);
	return code;
}

int directory_write(struct directory *d, struct log_bytes *out)
{
	size_t begins = out->used;
	int code = add_number(out, d->count);
	code = code < 0 ? code : log_bytes_add(out, d->entries.at, d->entries.used);
	code = code < 0 ? code : add_texts(d, out);
	code = code < 0 ? code : log_bytes_add(out, d->columns.at, d->columns.used);
	struct compact_footer footer = {.length = (uint32_t)(out->used - begins)};
	memcpy(footer.magic, COMPACT_MAGIC, sizeof footer.magic);
	footer.crc = log_crc32c(0, out->at + begins, footer.length);
	footer.crc = log_crc32c(footer.crc, &footer.length, sizeof footer.length);
	return code < 0 ? code : log_bytes_add(out, &footer, sizeof footer);
}

void directory_free(struct directory *d)
{
	log_bytes_free(&d->entries);
	log_bytes_free(&d->columns);
	text_index_free(&d->texts);
}

/* ---- reading ---- */

static int name_entry(struct trailer_entry *e, struct word name)
{
	if (!name.at || name.length >= TRAILER_NAME)
		return LOG_E_DAMAGED;
	memcpy(e->name, name.at, name.length);
	return LOG_OK;
}

static int read_name(struct cut *from, struct trailer_entry *e, uint64_t *number)
{
	uint64_t length;
	if (cut_number(from, number) < 0)
		return LOG_E_DAMAGED;
	if (*number)
		return name_entry(e, dictionary_at(*number - 1));
	if (cut_number(from, &length) < 0 || length > (uint64_t)(from->end - from->at))
		return LOG_E_DAMAGED;
	struct word name = {(const char *)from->at, (size_t)length};
	from->at += length;
	return name_entry(e, name);
}

static int read_section(struct cut *from, struct trailer_entry *e)
{
	if (cut_number(from, &e->raw) < 0 || from->end - from->at < (ptrdiff_t)sizeof e->crc)
		return LOG_E_DAMAGED;
	memcpy(&e->crc, from->at, sizeof e->crc);
	from->at += sizeof e->crc;
	return LOG_OK;
}

/* The lines behind the word of the table's name, or those that the caller names. */
static int read_lines(struct cut *from, uint64_t name, struct log_bytes *schema, uint64_t *n)
{
	if (cut_number(from, n) < 0 || *n >> 1 > DICTIONARY_WORDS + (uint64_t)(from->end - from->at))
		return LOG_E_DAMAGED;
	bool known = *n & 1;
	struct log_bytes texts = {0};
	struct string_place *place = log_alloc((size_t)(*n >>= 1) * sizeof *place);
	int code = !place ? LOG_E_MEMORY : known && !name ? LOG_E_DAMAGED : LOG_OK;
	if (code >= 0 && !known)
		code = string_table_read(from, (size_t)*n, &texts, place, UINT16_MAX);
	for (uint64_t k = 0; k < *n && code >= 0; k++) {
		struct word line = known ? dictionary_at(name + k)
					 : (struct word){(const char *)texts.at + place[k].at, place[k].length};
		code = line.at ? log_bytes_add(schema, line.at, line.length) : LOG_E_DAMAGED;
		code = code < 0 ? code : log_bytes_add(schema, "\n", 1);
	}
	log_bytes_free(&texts);
	log_free(place);
	return code;
}

static int read_small(struct cut *from, uint64_t name, struct trailer_entry *e, struct trailer_field **fields)
{
	uint64_t n, row_size = 0;
	struct log_bytes schema = {0};
	int code = read_lines(from, name, &schema, &n);
	const char *text = (const char *)schema.at;
	if (code >= 0 && (!n || trailer_parse_schema(text, schema.used, NULL, &row_size) != (int64_t)n))
		code = LOG_E_DAMAGED;
	if (code >= 0 && (row_size > SMALL_ROWS || e->rows > SMALL_ROWS / row_size))
		code = LOG_E_DAMAGED;
	if (code >= 0 && !(*fields = log_alloc((size_t)n * sizeof **fields)))
		code = LOG_E_MEMORY;
	if (code >= 0)
		trailer_parse_schema(text, schema.used, *fields, &row_size);
	log_bytes_free(&schema);
	e->schema = (uint32_t)n; /* how many fields */
	e->row_size = (uint32_t)row_size;
	e->raw = e->rows * row_size;
	e->flags |= TRAILER_SMALL;
	return code;
}

static int read_entry(struct directory_contents *c, size_t i, struct cut *from)
{
	uint64_t name, rows;
	struct trailer_entry *e = &c->entries[i];
	int code = read_name(from, e, &name);
	if (code < 0 || cut_number(from, &rows) < 0 || cut_number(from, &e->stored) < 0)
		return LOG_E_DAMAGED;
	e->rows = rows >> 1;
	e->flags = TRAILER_COMPACT;
	return rows & 1 ? read_small(from, name, e, &c->fields[i]) : read_section(from, e);
}

static int read_texts(struct directory_contents *c, struct cut *from)
{
	if (cut_number(from, &c->ntexts) < 0 || c->ntexts > (uint64_t)(from->end - from->at) * 8)
		return LOG_E_DAMAGED;
	c->places = log_alloc((size_t)c->ntexts * sizeof *c->places);
	return c->places ? text_code_read(from, (size_t)c->ntexts, &c->texts, c->places, TEXTS_LIMIT) : LOG_E_MEMORY;
}

/* Columns of small tables are the end of the directory, sections what is before it. */
static int place_entries(struct directory_contents *c, uint64_t columns, uint64_t left, uint64_t ends)
{
	uint64_t sections = 0;
	for (size_t i = 0; i < c->count; i++) {
		struct trailer_entry *e = &c->entries[i];
		uint64_t *total = e->flags & TRAILER_SMALL ? &left : &sections;
		if (e->flags & TRAILER_SMALL ? e->stored > left : e->stored > ends - sections)
			return LOG_E_DAMAGED;
		*total += e->flags & TRAILER_SMALL ? -e->stored : e->stored;
		e->offset = columns;
		columns += e->flags & TRAILER_SMALL ? e->stored : 0;
	}
	for (size_t i = c->count; i--;)
		if (!(c->entries[i].flags & TRAILER_SMALL))
			c->entries[i].offset = ends -= c->entries[i].stored;
	return left ? LOG_E_DAMAGED : LOG_OK;
}

static int make_room(struct directory_contents *c, uint64_t count)
{
	c->count = (size_t)count;
	c->entries = log_alloc(c->count * sizeof *c->entries);
	c->fields = log_alloc(c->count * sizeof *c->fields);
	return c->entries && c->fields ? LOG_OK : LOG_E_MEMORY;
}

int directory_read(struct directory_contents *c, const uint8_t *at, size_t size, uint64_t ends)
{
	struct cut from = {at, at + size};
	uint64_t count;
	if (cut_number(&from, &count) < 0 || count > SECTIONS_MAX || count > size)
		return LOG_E_DAMAGED;
	int code = make_room(c, count);
	for (size_t i = 0; i < c->count && code >= 0; i++)
		code = read_entry(c, i, &from);
	code = code < 0 ? code : read_texts(c, &from);
	uint64_t left = (uint64_t)(from.end - from.at);
	return code < 0 ? code : place_entries(c, ends + size - left, left, ends);
}

static int read_old_entry(struct cut *from, struct trailer_entry *e)
{
	e->flags = TRAILER_COMPACT;
	if (cut_number(from, &e->rows) < 0 || cut_number(from, &e->stored) < 0)
		return LOG_E_DAMAGED;
	return read_section(from, e);
}

int directory_read_old(struct directory_contents *c, const uint8_t *at, size_t size, uint64_t ends)
{
	struct cut from = {at, at + size};
	struct log_bytes names = {0};
	uint64_t count;
	if (cut_number(&from, &count) < 0 || count > SECTIONS_MAX)
		return LOG_E_DAMAGED;
	struct string_place *place = log_alloc((size_t)count * sizeof *place);
	int code = place ? make_room(c, count) : LOG_E_MEMORY;
	code = code < 0 ? code : string_table_read(&from, c->count, &names, place, UINT16_MAX);
	for (size_t i = 0; i < c->count && code >= 0; i++) {
		struct word name = {(const char *)names.at + place[i].at, place[i].length};
		code = name_entry(&c->entries[i], name);
		code = code < 0 ? code : read_old_entry(&from, &c->entries[i]);
	}
	log_bytes_free(&names);
	log_free(place);
	return code < 0 ? code : place_entries(c, 0, 0, ends);
}

void directory_contents_free(struct directory_contents *c)
{
	for (size_t i = 0; c->fields && i < c->count; i++)
		log_free(c->fields[i]);
	log_free(c->entries);
	log_free(c->fields);
	log_free(c->places);
	log_bytes_free(&c->texts);
}

/* ---- a small table ---- */

/* As number_texts has made them. */
static void take_differences(const struct compact_table *t, uint64_t *row)
{
	uint64_t expected = 0;
	for (size_t f = 0; f < t->nfields; f++)
		for (uint32_t k = 0; t->fields[f].type == TRAILER_STR && k < t->fields[f].count; k++) {
			uint64_t *word = &row[t->fields[f].offset / 8 + k];
			*word += expected;
			expected = *word + 1;
		}
}

static int read_columns(const struct trailer_entry *e, const uint8_t *columns, struct compact_table *t)
{
	uint64_t *rows = (uint64_t *)(void *)t->bytes.at;
	uint32_t width = e->row_size / 8;
	bool *real = log_alloc(width);
	int code = real ? LOG_OK : LOG_E_MEMORY;
	if (code >= 0)
		compact_mark_real(real, t->fields, t->nfields);
	if (code >= 0 && e->rows > 1)
		code = columns_read(columns, (size_t)e->stored, rows, e->rows, width, real);
	if (code >= 0 && e->rows == 1) {
		code = columns_read_row(columns, (size_t)e->stored, rows, width, real);
		take_differences(t, rows);
	}
	log_free(real);
	return code;
}

int directory_read_table(const struct directory_contents *c, size_t entry, const uint8_t *columns,
			 struct compact_table *t)
{
	const struct trailer_entry *e = &c->entries[entry];
	size_t size = (size_t)e->raw;
	*t = (struct compact_table){.nfields = e->schema, .row_size = e->row_size};
	t->fields = log_alloc(t->nfields * sizeof *t->fields);
	if (!t->fields || log_bytes_room(&t->bytes, size + c->texts.used + 1) < 0)
		return LOG_E_MEMORY;
	memcpy(t->fields, c->fields[entry], t->nfields * sizeof *t->fields);
	t->bytes.used = size;
	int code = read_columns(e, columns, t);
	if (code >= 0)
		code = compact_refer(t, (uint64_t *)(void *)t->bytes.at, e->rows, c->places, c->ntexts);
	return code < 0 ? code : log_bytes_add(&t->bytes, c->texts.at, c->texts.used);
}
