#include "compact.h"

#include <string.h>

#include "codec.h"
#include "columns.h"
#include "crc32c.h"
#include "hash.h"
#include "index.h"
#include "string_table.h"
#include "trailer_schema.h"

enum {
	SQUEEZED_LEAST = 160, /* bytes of text that are worth a stream */
};

/* Columns of equal numbers take no room. So that a small file cannot ask for any memory, it has to have a size in proportion. */
#define MEMORY_FREE  ((uint64_t)16 << 20)
#define MEMORY_RATIO 1024

bool compact_too_large(uint64_t raw, uint64_t stored)
{
	return raw > MEMORY_FREE && raw / MEMORY_RATIO > stored;
}

/* ---- writing ---- */

struct reference {
	uint32_t at, length;
};

/* The section's texts, each once. */
struct distinct {
	const struct trailer_section *section;
	struct index index;
	struct log_bytes texts; /* struct word */
	size_t *numbers;        /* by what the index says */
	uint64_t n;
};

static bool add_word(struct distinct *d, struct word text)
{
	d->n++;
	return log_bytes_add(&d->texts, &text, sizeof text) >= 0;
}

static bool is_word(const struct distinct *d, size_t number, struct word text)
{
	const struct word *w = (const struct word *)d->texts.at + number;
	return w->length == text.length && memcmp(w->at, text.at, text.length) == 0;
}

static int number_text(struct distinct *d, struct reference r, uint64_t *number)
{
	const struct log_bytes *heap = &d->section->heap;
	bool is_new = false;
	if (r.at > heap->used || r.length > heap->used - r.at)
		return LOG_E_USAGE;
	struct word text = {r.length ? (const char *)heap->at + r.at : "", r.length};
	size_t found;
	uint64_t level = 0;
	do
		found = index_number(&d->index, log_hash(text.at, text.length, level++), &is_new);
	while (found != SIZE_MAX && !is_new && !is_word(d, found, text)); /* another text has that hash */
	if (found == SIZE_MAX || (is_new && !add_word(d, text)))
		return LOG_E_MEMORY;
	*number = found;
	return LOG_OK;
}

/* Texts of a field, as their numbers. */
static int number_field(struct distinct *d, uint64_t *rows, uint32_t width, uint32_t word)
{
	struct reference before = {0, 0}, r;
	uint64_t number = 0;
	int code = LOG_OK;
	for (uint64_t i = 0; i < d->section->nrows && code >= 0; i++) {
		memcpy(&r, &rows[i * width + word], sizeof r);
		if (!i || r.at != before.at || r.length != before.length)
			code = number_text(d, r, &number);
		before = r;
		rows[i * width + word] = number;
	}
	return code;
}

void compact_mark_real(bool *real, const struct trailer_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; fields[i].type == TRAILER_F64 && k < fields[i].count; k++)
			real[fields[i].offset / 8 + k] = true;
}

static int write_schema(struct log_bytes *out, const struct trailer_section *s)
{
	const char *at = (const char *)s->schema.at, *end = at + s->schema.used;
	struct word *line = log_alloc(s->nfields * sizeof *line);
	size_t n = 0;
	for (; line && n < s->nfields; n++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		line[n] = (struct word){at, (size_t)(stop - at)};
		at = stop + 1;
	}
	int code = line ? add_number(out, n) : LOG_E_MEMORY;
	code = code < 0 ? code : string_table_write(out, line, n);
	log_free(line);
	return code;
}

/* The texts, deflated when that is shorter. */
static int add_texts(struct log_bytes *out, const struct log_bytes *texts, struct deflater **deflater)
{
	int code = add_number(out, texts->used);
	const struct log_bytes *stored = texts;
	if (code >= 0 && texts->used >= SQUEEZED_LEAST) {
		if (!*deflater && !(*deflater = deflater_make()))
			return LOG_E_MEMORY;
		(*deflater)->out.used = 0;
		code = deflater_add(*deflater, texts->at, texts->used);
		code = code < 0 ? code : deflater_end(*deflater);
		stored = (*deflater)->out.used < texts->used ? &(*deflater)->out : texts;
	}
	code = code < 0 ? code : add_number(out, stored == texts ? 0 : stored->used);
	code = code < 0 ? code : log_bytes_add(out, stored->at, stored->used);
	if (*deflater)
		(*deflater)->out.used = 0;
	return code;
}

static int write_rows(struct log_bytes *out, const struct trailer_section *s, uint64_t *rows, bool *real,
		      struct deflater **deflater)
{
	uint32_t width = s->row_size / 8;
	struct distinct d = {.section = s};
	struct log_bytes texts = {0};
	int code = write_schema(&texts, s);
	for (size_t i = 0; i < s->nfields && code >= 0; i++)
		for (uint32_t k = 0; s->fields[i].type == TRAILER_STR && k < s->fields[i].count && code >= 0; k++)
			code = number_field(&d, rows, width, s->fields[i].offset / 8 + k);
	code = code < 0 ? code : add_number(&texts, d.n);
	code = code < 0 ? code : string_table_write(&texts, (const struct word *)d.texts.at, (size_t)d.n);
	code = code < 0 ? code : add_texts(out, &texts, deflater);
	compact_mark_real(real, s->fields, s->nfields);
	if (code >= 0 && s->nrows)
		code = columns_write(out, rows, s->nrows, width, real);
	index_free(&d.index);
	log_bytes_free(&d.texts);
	log_bytes_free(&texts);
	return code;
}

static int fill_up(struct log_bytes *out, size_t size)
{
	static const uint8_t zeros[256];
	int code = LOG_OK;
	while (code >= 0 && out->used < size)
		code = log_bytes_add(out, zeros, sizeof zeros);
	return code;
}

static int write_section(struct log_bytes *out, const struct trailer_section *s, struct deflater **deflater)
{
	uint64_t *rows = log_memory.alloc(s->rows.used + 8);
	bool *real = log_alloc(s->row_size / 8);
	int code = rows && real ? LOG_OK : LOG_E_MEMORY;
	if (code >= 0) {
		if (s->rows.used)
			memcpy(rows, s->rows.at, s->rows.used);
		code = write_rows(out, s, rows, real, deflater);
	}
	log_free(rows);
	log_free(real);
	return code;
}

int compact_write(struct log_bytes *out, const struct trailer_section *s, struct deflater **deflater)
{
	size_t begins = out->used, raw = s->rows.used + s->heap.used;
	int code = write_section(out, s, deflater);
	return code < 0 || raw <= MEMORY_FREE ? code : fill_up(out, begins + raw / MEMORY_RATIO);
}

int compact_write_part(struct log_bytes *out, const struct trailer_section *s, struct compact_part *part)
{
	struct deflater *deflater = NULL;
	size_t begins = out->used, raw = s->rows.used + s->heap.used;
	int code = write_section(out, s, &deflater);
	code = code < 0 ? code : fill_up(out, begins + raw / MEMORY_RATIO + 1);
	deflater_free(deflater);
	*part = (struct compact_part){s->nrows, out->used - begins, raw, 0, 0};
	part->crc = log_crc32c(0, out->at + begins, out->used - begins);
	return code;
}

/* ---- reading ---- */

static int inflate_texts(struct log_bytes *texts, const uint8_t *at, size_t size, size_t raw)
{
	struct codec_io io = {.in = at, .in_left = size};
	void *state = NULL;
	codec_zlib.open(&state);
	int code = state ? log_bytes_room(texts, raw) : LOG_E_MEMORY;
	enum codec_result got = CODEC_MORE;
	io.out = texts->at;
	io.out_left = code < 0 ? 0 : raw;
	while (code >= 0 && got == CODEC_MORE && (io.in_left || io.out_left)) {
		size_t in = io.in_left, room = io.out_left;
		got = codec_zlib.step(state, &io);
		if (io.in_left == in && io.out_left == room)
			break;
	}
	if (state)
		codec_zlib.close(state);
	texts->used = code < 0 ? 0 : raw - io.out_left;
	return code < 0 ? code : io.out_left || got == CODEC_BAD ? LOG_E_DAMAGED : LOG_OK;
}

/* The part of the section that holds its texts; `room` is for those that are deflated. */
static int find_texts(struct cut *from, struct cut *texts, struct log_bytes *room, uint64_t limit)
{
	uint64_t raw, stored;
	if (cut_number(from, &raw) < 0 || cut_number(from, &stored) < 0)
		return LOG_E_DAMAGED;
	uint64_t size = stored ? stored : raw;
	if (size > (uint64_t)(from->end - from->at) || raw > limit)
		return LOG_E_DAMAGED;
	int code = stored ? inflate_texts(room, from->at, (size_t)stored, (size_t)raw) : LOG_OK;
	*texts = stored ? (struct cut){room->at, room->at + room->used} : (struct cut){from->at, from->at + raw};
	from->at += size;
	return code;
}

static int read_schema(struct compact_table *t, struct cut *texts)
{
	uint64_t n, row_size;
	struct log_bytes lines = {0}, schema = {0};
	struct string_place *place = NULL;
	int code = cut_number(texts, &n);
	if (code >= 0 && n <= (uint64_t)DICTIONARY_WORDS + (uint64_t)(texts->end - texts->at))
		place = log_alloc((size_t)n * sizeof *place);
	code = code < 0 ? code : place ? string_table_read(texts, (size_t)n, &lines, place, UINT16_MAX) : LOG_E_DAMAGED;
	for (size_t i = 0; code >= 0 && i < n; i++) {
		code = log_bytes_add(&schema, lines.at + place[i].at, place[i].length);
		code = code < 0 ? code : log_bytes_add(&schema, "\n", 1);
	}
	const char *text = (const char *)schema.at;
	if (code >= 0 && trailer_parse_schema(text, schema.used, NULL, &row_size) != (int64_t)n)
		code = LOG_E_DAMAGED;
	if (code >= 0 && !(t->fields = log_alloc((size_t)n * sizeof *t->fields)))
		code = LOG_E_MEMORY;
	if (code >= 0) {
		t->nfields = (size_t)trailer_parse_schema(text, schema.used, t->fields, &row_size);
		t->row_size = (size_t)row_size;
	}
	log_bytes_free(&lines);
	log_bytes_free(&schema);
	log_free(place);
	return code;
}

int compact_refer(const struct compact_table *t, uint64_t *rows, uint64_t n, const struct string_place *place,
		  uint64_t texts)
{
	size_t width = t->row_size / 8;
	for (size_t f = 0; f < t->nfields; f++)
		for (size_t k = 0; t->fields[f].type == TRAILER_STR && k < t->fields[f].count; k++)
			for (uint64_t i = 0; i < n; i++) {
				uint64_t *word = &rows[i * width + t->fields[f].offset / 8 + k];
				if (*word >= texts)
					return LOG_E_DAMAGED;
				memcpy(word, &place[*word], sizeof *word);
			}
	return LOG_OK;
}

/* Rows, and behind them the texts that are there already. */
static int read_rows(struct compact_table *t, const struct cut *from, uint64_t rows, const struct string_place *place,
		     uint64_t texts)
{
	bool *real = log_alloc(t->row_size / 8);
	int code = real ? LOG_OK : LOG_E_MEMORY;
	if (code >= 0) {
		compact_mark_real(real, t->fields, t->nfields);
		code = columns_read(from->at, (size_t)(from->end - from->at), (uint64_t *)t->bytes.at, rows,
				    (uint32_t)(t->row_size / 8), real);
	}
	log_free(real);
	return code < 0 ? code : compact_refer(t, (uint64_t *)t->bytes.at, rows, place, texts);
}

static int read_table(struct compact_table *t, struct cut *from, struct cut *texts, uint64_t rows, uint64_t raw)
{
	uint64_t n;
	int code = read_schema(t, texts);
	if (code < 0 || (code = cut_number(texts, &n)) < 0)
		return code;
	if (rows && (!t->row_size || rows > raw / t->row_size))
		return LOG_E_DAMAGED;
	if (n > rows * (t->row_size / 8))
		return LOG_E_DAMAGED;
	size_t room = (size_t)rows * t->row_size;
	struct string_place *place = log_alloc((size_t)n * sizeof *place);
	code = place ? log_bytes_room(&t->bytes, (size_t)raw) : LOG_E_MEMORY;
	if (code >= 0) {
		t->bytes.used = room;
		code = string_table_read(texts, (size_t)n, &t->bytes, place, (size_t)raw - room);
	}
	if (code >= 0 && rows)
		code = read_rows(t, from, rows, place, n);
	log_free(place);
	return code;
}

int compact_read(struct compact_table *t, const uint8_t *at, size_t size, uint64_t rows, uint64_t raw)
{
	struct cut from = {at, at + size}, texts;
	struct log_bytes room = {0};
	if (compact_too_large(raw, size))
		return LOG_E_DAMAGED;
	int code = find_texts(&from, &texts, &room, raw + UINT16_MAX);
	code = code < 0 ? code : read_table(t, &from, &texts, rows, raw);
	log_bytes_free(&room);
	return code;
}
