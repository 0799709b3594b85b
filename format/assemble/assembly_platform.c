/* What the job ran on: one process of each node tells it. What holds for all nodes is one row, without a host. */
#include <stdio.h>
#include <string.h>

#include "assembly.h"
#include "file_system.h"
#include "hash.h"
#include "section_copy.h"
#include "source.h"

enum { WORDS = 5 };

struct line {
	char word[WORDS][512];
	int words;
};

/* Returns what follows the line. */
static const char *read_words(const char *at, struct line *l)
{
	*l = (struct line){.words = 0};
	while (*at && *at != '\n') {
		size_t n = strcspn(at, "\t\n");
		if (l->words < WORDS)
			snprintf(l->word[l->words++], sizeof l->word[0], "%.*s", (int)n, at);
		at += n + (at[n] == '\t');
	}
	return at + (*at == '\n');
}

static double number_of(const char **at)
{
	double n = 0;
	for (; **at >= '0' && **at <= '9'; ++*at)
		n = n * 10 + (**at - '0');
	return n;
}

/* A whole number, or two with / between them: strtod would read as the program's language writes. */
static double value_of(const char *text)
{
	double n = number_of(&text);
	double by = *text++ == '/' ? number_of(&text) : 1;
	return by > 0 ? n / by : n;
}

static int add_fact(struct assembly *a, const char *host, const struct line *l)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PLATFORM];
	const char *name = l->word[0], *unit = l->word[1], *value = l->word[2];
	section_row(s);
	section_set_text(s, "host", 0, host);
	section_set_text(s, "name", 0, name);
	section_set_text(s, "value", 0, *unit ? "" : value);
	section_set_f64(s, "number", 0, *unit ? value_of(value) : 0);
	return section_set_text(s, "unit", 0, unit);
}

static int add_mount(struct assembly *a, const char *host, const struct line *l)
{
	static const char *const fields[] = {"point", "type", "source", "options"};
	struct trailer_section *s = &a->section[ASSEMBLY_MOUNTED];
	section_row(s);
	for (int f = 0; f < WORDS - 1; f++)
		section_set_text(s, fields[f], 0, l->word[f + 1]);
	section_set_text(s, "class", 0, file_system_class(l->word[2], l->word[3]));
	return section_set_text(s, "host", 0, host);
}

/* Of a node that has not been told of: the first process that did counts. */
static int add_text(struct assembly *a, const char *text)
{
	struct line l;
	char host[sizeof l.word[0]] = "";
	int code = 0;
	for (const char *at = text; *at && code >= 0;) {
		at = read_words(at, &l);
		if (!host[0]) {
			memcpy(host, l.word[2], sizeof host);
			if (strcmp(l.word[0], "host") != 0 || !host[0] || id_set_has(&a->told, log_id(host)))
				return 0;
			code = id_set_add(&a->told, log_id(host));
		} else if (strcmp(l.word[0], "mount") == 0) {
			code = l.words == WORDS ? add_mount(a, host, &l) : 0;
		} else if (l.words == 3) {
			code = add_fact(a, host, &l);
		}
	}
	return code;
}

int assembly_add_platform(struct assembly *a, const struct store_reader *i)
{
	char text[PLATFORM_TEXT];
	if (!(i->state->has & STATE_HAS_PLATFORM))
		return 0;
	memcpy(text, i->state->optional.platform, sizeof text);
	text[sizeof text - 1] = '\0';
	return add_text(a, text);
}

/* ---- all nodes ---- */

struct row {
	uint64_t hash; /* of all but the host */
	uint64_t at;
};

static int compare(const void *left, const void *right)
{
	const struct row *x = left, *y = right;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static uint8_t *field_of(const struct trailer_section *s, uint64_t row, const struct trailer_field *f)
{
	return s->rows.at + row * s->row_size + f->offset;
}

static uint64_t hash_field(const struct trailer_section *s, uint64_t row, const struct trailer_field *f, uint64_t seed)
{
	const uint8_t *at = field_of(s, row, f);
	uint32_t text[2];
	if (f->type != TRAILER_STR)
		return log_hash(at, 8, seed);
	memcpy(text, at, sizeof text);
	return log_hash(s->heap.at + text[0], text[1], seed);
}

static void keep(struct trailer_section *s, const bool *dropped)
{
	uint64_t kept = 0;
	for (uint64_t row = 0; row < s->nrows; row++)
		if (!dropped[row])
			memmove(s->rows.at + kept++ * s->row_size, s->rows.at + row * s->row_size, s->row_size);
	s->nrows = kept;
	s->rows.used = kept * s->row_size;
}

/* Rows that each of `hosts` nodes has become one. */
static int unite(struct trailer_section *s, size_t hosts)
{
	const struct trailer_field *host = section_field(s, "host");
	struct row *rows = log_alloc(s->nrows * sizeof *rows + 1);
	bool *dropped = log_alloc(s->nrows + 1);
	for (uint64_t n = 0; rows && n < s->nrows; n++) {
		rows[n] = (struct row){.at = n};
		for (size_t f = 0; f < s->nfields; f++)
			if (&s->fields[f] != host)
				rows[n].hash = hash_field(s, n, &s->fields[f], rows[n].hash);
	}
	if (rows && dropped) {
		log_sort(rows, s->nrows, sizeof *rows, compare);
		for (uint64_t n = 0, end; n < s->nrows; n = end) {
			for (end = n + 1; end < s->nrows && rows[end].hash == rows[n].hash; end++)
				dropped[rows[end].at] = end - n >= hosts;
			if (end - n < hosts)
				continue;
			memset(field_of(s, rows[n].at, host), 0, 8);
			for (uint64_t k = n + 1; k < end; k++)
				dropped[rows[k].at] = true;
		}
		keep(s, dropped);
	}
	log_free(dropped);
	int code = rows ? 0 : LOG_E_MEMORY;
	log_free(rows);
	return code;
}

static size_t count_hosts(const struct trailer_section *s)
{
	struct id_set hosts = {0};
	const struct trailer_field *host = section_field(s, "host");
	for (uint64_t row = 0; row < s->nrows; row++)
		id_set_add(&hosts, hash_field(s, row, host, 1));
	size_t n = hosts.used;
	id_set_free(&hosts);
	return n;
}

/* `iolens run` has left it beside the stores, and all are of its user. */
static int add_file(struct assembly *a)
{
	char path[4096 + sizeof PLATFORM_FILE], text[PLATFORM_TEXT];
	struct source file;
	struct log_error none;
	if (!a->nsources)
		return 0;
	snprintf(path, 4096, "%s%s%s", a->directory ? a->directory : "", a->directory ? "/" : "", a->sources[0].name);
	char *slash = strrchr(path, '/');
	if (!slash)
		return 0;
	strcpy(slash + 1, PLATFORM_FILE);
	if (source_open_file(&file, path, &none) < 0)
		return 0;
	size_t n = file.size < sizeof text ? file.size : sizeof text - 1;
	text[source_read(&file, 0, text, n, &none) < 0 ? 0 : n] = '\0';
	source_close(&file);
	return add_text(a, text);
}

int assembly_end_platform(struct assembly *a)
{
	int code = add_file(a);
	size_t hosts = count_hosts(&a->section[ASSEMBLY_PLATFORM]);
	if (code >= 0 && hosts)
		code = unite(&a->section[ASSEMBLY_PLATFORM], hosts);
	if (code >= 0 && hosts)
		code = unite(&a->section[ASSEMBLY_MOUNTED], hosts);
	return code;
}
