#include "trailer.h"

#include <string.h>

#include "crc32c.h"
#include "directory.h"
#include "reader.h"
#include "trailer_schema.h"

/* More than any job needs; a hostile directory must not make us allocate what it says. */
enum { SECTIONS_MAX = 1024, DIRECTORY_LIMIT = 1 << 19 };
#define SECTION_LIMIT ((uint64_t)1 << 30)

struct trailer {
	struct log *log;
	size_t count;
	struct trailer_entry *entries;      /* of tables; offset and CRC are those of the first part */
	struct directory_contents contents; /* of a log: entries table by table, parts of one behind each other */
	size_t *first; /* by table: its first part; behind the last table: how many parts there are */
};

struct trailer_table {
	struct log_bytes bytes;
	struct trailer_field *fields;
	size_t nfields;
	uint64_t rows;
	const uint8_t *first_row;
	size_t row_size;
	const char *heap;
	uint64_t heap_size;
};

/* ---- of a store ---- */

/* 1 = there is a valid footer, 0 = no trailer. */
static int read_footer(const struct source *s, struct trailer_footer *f, struct log_error *err)
{
	if (s->size < sizeof *f)
		return 0;
	uint64_t at = s->size - sizeof *f;
	int code = source_read(s, at, f, sizeof *f, err);
	if (code < 0)
		return code;
	if (memcmp(f->magic, TRAILER_MAGIC, sizeof f->magic))
		return 0;
	if (f->version != TRAILER_VERSION)
		return log_fail(err, LOG_E_UNSUPPORTED, at, "trailer of an unknown version");
	if (f->crc != log_crc32c(0, f, offsetof(struct trailer_footer, crc)))
		return log_fail(err, LOG_E_DAMAGED, at, "trailer's footer is damaged");
	if (!(f->flags & TRAILER_IN_PLACE))
		return log_fail(err, LOG_E_UNSUPPORTED, at,
				"trailer of before the first release, which is no longer read");
	if (f->length % sizeof(struct trailer_entry) || f->length / sizeof(struct trailer_entry) > SECTIONS_MAX)
		return log_fail(err, LOG_E_DAMAGED, at, "trailer's directory is damaged");
	return 1;
}

static int read_directory(struct trailer *t, const struct trailer_footer *f, struct log_error *err)
{
	t->count = f->length / sizeof *t->entries;
	t->entries = log_alloc(f->length);
	if (!t->entries)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = source_read(&t->log->source, f->directory, t->entries, f->length, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < t->count; i++) {
		t->entries[i].name[TRAILER_NAME - 1] = 0;
		t->entries[i].flags &= ~(uint32_t)TRAILER_COMPACT;
	}
	return LOG_OK;
}

/* ---- of a compact trailer ---- */

/* 1 = there is a footer, 0 = no trailer of this kind. */
static int read_compact_footer(const struct source *s, struct compact_footer *f, struct log_error *err)
{
	enum { LETTERS = sizeof f->magic - 1 };
	if (s->size < sizeof *f)
		return 0;
	uint64_t at = s->size - sizeof *f;
	int code = source_read(s, at, f, sizeof *f, err);
	if (code < 0 || memcmp(f->magic, COMPACT_MAGIC, LETTERS) != 0)
		return code;
	if (f->magic[LETTERS] < COMPACT_OLDEST || f->magic[LETTERS] > COMPACT_NEWEST)
		return log_fail(err, LOG_E_UNSUPPORTED, at, "trailer of an unknown version");
	if (f->length > at || f->length > DIRECTORY_LIMIT)
		return log_fail(err, LOG_E_DAMAGED, at, "trailer's footer is damaged");
	return 1;
}

static bool add_part(struct trailer_entry *e, const struct trailer_entry *part)
{
	return !__builtin_add_overflow(e->stored, part->stored, &e->stored) &&
	       !__builtin_add_overflow(e->raw, part->raw, &e->raw) &&
	       !__builtin_add_overflow(e->rows, part->rows, &e->rows);
}

/* Entries of one name, one behind the other, are parts of one table. */
static int join_parts(struct trailer *t)
{
	size_t n = t->contents.count;
	t->entries = log_alloc(n * sizeof *t->entries);
	t->first = log_alloc((n + 1) * sizeof *t->first);
	if (!t->entries || !t->first)
		return LOG_E_MEMORY;
	for (size_t i = 0; i < n; i++) {
		bool more = i && strcmp(t->contents.entries[i].name, t->contents.entries[i - 1].name) == 0;
		if (more && !add_part(&t->entries[t->count - 1], &t->contents.entries[i]))
			return LOG_E_DAMAGED;
		if (more)
			continue;
		t->first[t->count] = i;
		t->entries[t->count++] = t->contents.entries[i];
	}
	t->first[t->count] = n;
	return LOG_OK;
}

static int read_compact_directory(struct trailer *t, const struct compact_footer *f, struct log_error *err)
{
	const struct source *s = &t->log->source;
	uint64_t at = s->size - sizeof *f - f->length;
	bool old = f->magic[sizeof f->magic - 1] < COMPACT_SMALL;
	uint8_t *bytes = log_alloc(f->length);
	if (!bytes)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = source_read(s, at, bytes, f->length, err);
	uint32_t crc = log_crc32c(log_crc32c(0, bytes, f->length), &f->length, sizeof f->length);
	if (code >= 0 && crc != f->crc)
		code = log_fail(err, LOG_E_DAMAGED, at, "trailer's directory is damaged");
	if (code >= 0 &&
	    ((old ? directory_read_old : directory_read)(&t->contents, bytes, f->length, at) < 0 || join_parts(t) < 0))
		code = log_fail(err, LOG_E_DAMAGED, at, "trailer's directory is damaged");
	log_free(bytes);
	return code;
}

static int open_trailer(struct trailer *t, struct log_error *err)
{
	struct trailer_footer footer;
	struct compact_footer compact;
	int code = read_compact_footer(&t->log->source, &compact, err);
	if (code)
		return code < 0 ? code : read_compact_directory(t, &compact, err) < 0 ? err->code : 1;
	code = read_footer(&t->log->source, &footer, err);
	return code <= 0 ? code : read_directory(t, &footer, err) < 0 ? err->code : 1;
}

int trailer_open(struct trailer **out, struct log *log, struct log_error *err)
{
	struct log_error unwanted;
	err = err ? err : &unwanted;
	*out = NULL;
	struct trailer *t = log_alloc(sizeof *t);
	if (!t)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	t->log = log;
	int code = open_trailer(t, err);
	if (code <= 0)
		trailer_close(t);
	else
		*out = t;
	return code < 0 ? code : LOG_OK;
}

void trailer_close(struct trailer *t)
{
	if (!t)
		return;
	log_free(t->entries);
	directory_contents_free(&t->contents);
	log_free(t->first);
	log_free(t);
}

size_t trailer_count(const struct trailer *t)
{
	return t ? t->count : 0;
}

const struct trailer_entry *trailer_at(const struct trailer *t, size_t i)
{
	return &t->entries[i];
}

static int check_crc(const struct source *s, const struct trailer_entry *e, struct log_error *err)
{
	uint8_t piece[4096];
	uint32_t crc = 0;
	for (uint64_t at = 0; at < e->stored; at += sizeof piece) {
		size_t n = e->stored - at < sizeof piece ? (size_t)(e->stored - at) : sizeof piece;
		int code = source_read(s, e->offset + at, piece, n, err);
		if (code < 0)
			return code;
		crc = log_crc32c(crc, piece, n);
	}
	if (crc != e->crc)
		return log_fail(err, LOG_E_DAMAGED, e->offset, "trailer section ", e->name, " is damaged");
	return LOG_OK;
}

static int check_entry(const struct source *s, const struct trailer_entry *e, struct log_error *err)
{
	bool bad = e->offset > s->size || e->stored > s->size - e->offset || e->raw > SECTION_LIMIT;
	if (!bad && e->flags & TRAILER_SMALL)
		return LOG_OK;
	if (!bad && e->flags & TRAILER_COMPACT)
		return check_crc(s, e, err);
	bad |= e->compression != LOG_PLAIN || e->raw != e->stored;
	bad |= e->schema > e->raw || e->schema % 8 || e->row_size % 8 || e->heap > e->raw || e->heap < e->schema;
	bad |= e->row_size && !bad && e->rows > (e->heap - e->schema) / e->row_size;
	bad |= !e->row_size && e->rows;
	if (bad)
		return log_fail(err, LOG_E_DAMAGED, e->offset, "trailer section ", e->name, " is damaged");
	return LOG_OK;
}

const struct trailer_entry *trailer_entry_named(const struct trailer *t, const char *name)
{
	for (size_t i = 0; i < trailer_count(t); i++)
		if (!strcmp(t->entries[i].name, name))
			return &t->entries[i];
	return NULL;
}

int trailer_read_row(struct trailer *t, const struct trailer_entry *e, uint64_t from, void *out, size_t n,
		     struct log_error *err)
{
	const struct source *s = &t->log->source;
	int code = check_entry(s, e, err);
	if (code < 0)
		return code;
	if (e->flags & TRAILER_COMPACT || !e->rows || from > e->row_size || n > e->row_size - from)
		return log_fail(err, LOG_E_DAMAGED, e->offset, "trailer section ", e->name, " is damaged");
	return source_read(s, e->offset + e->schema + from, out, n, err);
}

static int load_bytes(struct trailer_table *t, const struct source *s, const struct trailer_entry *e,
		      struct log_error *err)
{
	if (log_bytes_room(&t->bytes, (size_t)e->raw) < 0)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	t->bytes.used = (size_t)e->raw;
	return source_read(s, e->offset, t->bytes.at, (size_t)e->raw, err);
}

static int parse_table(struct trailer_table *t, const struct trailer_entry *e, struct log_error *err)
{
	uint64_t row_size;
	const char *schema = (const char *)t->bytes.at;
	int64_t n = trailer_parse_schema(schema, e->schema, NULL, &row_size);
	if (n < 0 || row_size > e->row_size)
		return log_fail(err, LOG_E_DAMAGED, e->offset, "trailer section ", e->name, " has a damaged schema");
	t->fields = log_alloc((size_t)n * sizeof *t->fields);
	if (!t->fields)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	t->nfields = (size_t)trailer_parse_schema(schema, e->schema, t->fields, &row_size);
	t->rows = e->rows;
	t->row_size = e->row_size;
	t->first_row = t->bytes.at + e->schema;
	t->heap = (const char *)t->bytes.at + e->heap;
	t->heap_size = e->raw - e->heap;
	return LOG_OK;
}

/* `part`: which of the directory's entries it is. */
static int load_compact(const struct trailer *t, const struct trailer_entry *e, size_t part, struct trailer_table *to,
			struct log_error *err)
{
	struct compact_table table = {0};
	uint8_t *stored = log_memory.alloc(e->stored + 1);
	if (!stored)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = source_read(&t->log->source, e->offset, stored, (size_t)e->stored, err);
	if (code >= 0) {
		code = e->flags & TRAILER_SMALL ? directory_read_table(&t->contents, part, stored, &table)
						: compact_read(&table, stored, (size_t)e->stored, e->rows, e->raw);
		if (code < 0)
			log_fail(err, code, e->offset, "trailer section ", e->name,
				 code == LOG_E_MEMORY ? " does not fit into memory" : " is damaged");
	}
	log_free(stored);
	to->bytes = table.bytes;
	to->fields = table.fields;
	to->nfields = table.nfields;
	to->row_size = table.row_size;
	to->rows = e->rows;
	to->first_row = to->bytes.at;
	size_t rows = (size_t)e->rows * to->row_size;
	to->heap = (const char *)to->bytes.at + rows;
	to->heap_size = code < 0 ? 0 : to->bytes.used - rows;
	return code;
}

static int load(const struct trailer *t, const struct trailer_entry *e, size_t part, struct trailer_table *table,
		struct log_error *err)
{
	int code = check_entry(&t->log->source, e, err);
	if (code >= 0 && e->flags & TRAILER_COMPACT)
		return load_compact(t, e, part, table, err);
	if (code >= 0)
		code = load_bytes(table, &t->log->source, e, err);
	return code < 0 ? code : parse_table(table, e, err);
}

/* ---- a table in parts ---- */

static bool same_fields(const struct trailer_table *a, const struct trailer_table *b)
{
	bool same = a->nfields == b->nfields && a->row_size == b->row_size;
	for (size_t f = 0; same && f < a->nfields; f++)
		same = !strcmp(a->fields[f].name, b->fields[f].name) && a->fields[f].type == b->fields[f].type &&
		       a->fields[f].count == b->fields[f].count;
	return same;
}

/* Texts of the part stand behind those of the parts before. */
static void move_texts(const struct trailer_table *part, uint32_t by)
{
	for (size_t f = 0; f < part->nfields; f++)
		for (uint32_t k = 0; part->fields[f].type == TRAILER_STR && k < part->fields[f].count; k++)
			for (uint64_t row = 0; row < part->rows; row++) {
				uint8_t *at = part->bytes.at + row * part->row_size + part->fields[f].offset + 8 * k;
				uint32_t begins;
				memcpy(&begins, at, sizeof begins);
				begins += by;
				memcpy(at, &begins, sizeof begins);
			}
}

static int add_rows(struct trailer_table *all, struct log_bytes *texts, const struct trailer_table *part)
{
	if (!same_fields(all, part))
		return LOG_E_DAMAGED;
	move_texts(part, (uint32_t)texts->used);
	int code = log_bytes_add(&all->bytes, part->bytes.at, part->rows * part->row_size);
	return code < 0 ? code : log_bytes_add(texts, part->heap, part->heap_size);
}

/* The first one tells the fields. */
static int load_part(const struct trailer *t, size_t p, struct trailer_table *all, struct log_bytes *texts,
		     struct log_error *err)
{
	const struct trailer_entry *e = &t->contents.entries[p];
	struct trailer_table part = {0};
	int code = load(t, e, p, &part, err);
	if (code >= 0 && !all->fields) {
		all->fields = part.fields;
		all->nfields = part.nfields;
		all->row_size = part.row_size;
	}
	if (code >= 0 && (code = add_rows(all, texts, &part)) < 0)
		log_fail(err, code, e->offset, "trailer section ", e->name,
			 code == LOG_E_MEMORY ? " does not fit into memory" : " has parts that do not belong together");
	log_bytes_free(&part.bytes);
	if (part.fields != all->fields)
		log_free(part.fields);
	return code;
}

static int load_parts(const struct trailer *t, size_t i, struct trailer_table *table, struct log_error *err)
{
	const struct trailer_entry *e = &t->entries[i];
	struct log_bytes texts = {0};
	int code = LOG_OK;
	if (e->raw > SECTION_LIMIT || compact_too_large(e->raw, e->stored))
		return log_fail(err, LOG_E_DAMAGED, e->offset, "trailer section ", e->name, " is damaged");
	for (size_t p = t->first[i]; p < t->first[i + 1] && code >= 0; p++)
		code = load_part(t, p, table, &texts, err);
	size_t rows = table->bytes.used;
	if (code >= 0 && (code = log_bytes_add(&table->bytes, texts.at, texts.used)) < 0)
		log_fail(err, code, LOG_NOWHERE, "not enough memory");
	table->rows = e->rows;
	table->first_row = table->bytes.at;
	table->heap = (const char *)table->bytes.at + rows;
	table->heap_size = code < 0 ? 0 : texts.used;
	log_bytes_free(&texts);
	return code;
}

int trailer_find(struct trailer *t, const char *name, struct trailer_table **out, struct log_error *err)
{
	*out = NULL;
	size_t i = 0;
	while (i < trailer_count(t) && strcmp(t->entries[i].name, name))
		i++;
	if (i == trailer_count(t))
		return LOG_OK;
	struct trailer_table *table = log_alloc(sizeof *table);
	if (!table)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	bool parts = t->first && t->first[i + 1] - t->first[i] > 1;
	int code =
		parts ? load_parts(t, i, table, err) : load(t, &t->entries[i], t->first ? t->first[i] : 0, table, err);
	if (code < 0)
		trailer_free(table);
	else
		*out = table;
	return code;
}

void trailer_free(struct trailer_table *table)
{
	if (!table)
		return;
	log_bytes_free(&table->bytes);
	log_free(table->fields);
	log_free(table);
}

uint64_t trailer_rows(const struct trailer_table *t)
{
	return t ? t->rows : 0;
}

size_t trailer_fields(const struct trailer_table *t)
{
	return t ? t->nfields : 0;
}

const struct trailer_field *trailer_field_at(const struct trailer_table *t, size_t i)
{
	return &t->fields[i];
}

const struct trailer_field *trailer_field(const struct trailer_table *t, const char *name)
{
	for (size_t i = 0; i < trailer_fields(t); i++)
		if (!strcmp(t->fields[i].name, name))
			return &t->fields[i];
	return NULL;
}

const void *trailer_row(const struct trailer_table *t, uint64_t row)
{
	return t->first_row + row * t->row_size;
}

size_t trailer_row_size(const struct trailer_table *t)
{
	return t->row_size;
}

/* The 8 bytes of an element, NULL if there is none. */
static const uint8_t *element(const struct trailer_table *t, uint64_t row, const struct trailer_field *f, uint32_t at)
{
	if (!t || !f || row >= t->rows || at >= f->count)
		return NULL;
	return (const uint8_t *)trailer_row(t, row) + f->offset + (f->type == TRAILER_CHAR ? 0 : 8 * (size_t)at);
}

int64_t trailer_i64(const struct trailer_table *t, uint64_t row, const struct trailer_field *f, uint32_t at)
{
	const uint8_t *p = element(t, row, f, at);
	int64_t i = 0;
	double d;
	if (!p || f->type > TRAILER_F64)
		return 0;
	memcpy(&i, p, 8);
	memcpy(&d, p, 8);
	if (f->type == TRAILER_F64)
		i = d > -9e18 && d < 9e18 ? (int64_t)d : 0;
	return i;
}

double trailer_f64(const struct trailer_table *t, uint64_t row, const struct trailer_field *f, uint32_t at)
{
	const uint8_t *p = element(t, row, f, at);
	double d = 0;
	uint64_t u;
	if (!p || f->type > TRAILER_F64)
		return 0;
	memcpy(&u, p, 8);
	memcpy(&d, p, 8);
	if (f->type == TRAILER_F64)
		return d;
	return f->type == TRAILER_U64 ? (double)u : (double)(int64_t)u;
}

const char *trailer_text(const struct trailer_table *t, uint64_t row, const struct trailer_field *f, uint32_t at,
			 size_t *length)
{
	const uint8_t *p = element(t, row, f, at);
	uint32_t ref[2];
	*length = 0;
	if (!p || f->type < TRAILER_STR)
		return "";
	if (f->type == TRAILER_CHAR) {
		*length = strnlen((const char *)p, f->count);
		return (const char *)p;
	}
	memcpy(ref, p, sizeof ref);
	if (ref[0] > t->heap_size || ref[1] > t->heap_size - ref[0])
		return "";
	*length = ref[1];
	return t->heap + ref[0];
}

void trailer_copy_text(const struct trailer_table *t, uint64_t row, const char *field, char *to, size_t room)
{
	size_t n;
	const char *text = trailer_text(t, row, trailer_field(t, field), 0, &n);
	n = n < room - 1 ? n : room - 1;
	memcpy(to, text, n);
	to[n] = '\0';
}
