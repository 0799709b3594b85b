#include "sites.h"

#include <string.h>

#include "trailer.h"

struct place {
	uint64_t file;
	uint64_t row;
};

struct sites {
	struct trailer *trailer;
	struct trailer_table *table;
	const struct trailer_field *interface;
	struct place *places; /* by file */
	size_t n;
};

static int compare(const void *left, const void *right)
{
	const struct place *x = left, *y = right;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int read_places(struct sites *s, struct log_error *err)
{
	const struct trailer_field *file = trailer_field(s->table, "file");
	s->places = log_alloc((trailer_rows(s->table) + 1) * sizeof *s->places);
	if (!s->places)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	s->interface = trailer_field(s->table, "interface");
	for (; s->n < trailer_rows(s->table); s->n++)
		s->places[s->n] = (struct place){(uint64_t)trailer_i64(s->table, s->n, file, 0), s->n};
	log_sort(s->places, s->n, sizeof *s->places, compare);
	return LOG_OK;
}

int sites_open(struct sites **out, struct log *log, struct log_error *err)
{
	struct sites *s = log_alloc(sizeof *s);
	*out = NULL;
	if (!s)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = trailer_open(&s->trailer, log, err);
	if (code >= 0)
		code = trailer_find(s->trailer, "sites", &s->table, err);
	if (code >= 0 && s->table)
		code = read_places(s, err);
	if (code >= 0 && s->table)
		*out = s;
	else
		sites_close(s);
	return code;
}

void sites_close(struct sites *s)
{
	if (!s)
		return;
	trailer_free(s->table);
	trailer_close(s->trailer);
	log_free(s->places);
	log_free(s);
}

static bool is_of(const struct sites *s, uint64_t row, const char *interface)
{
	size_t n;
	const char *text = trailer_text(s->table, row, s->interface, 0, &n);
	return n == strlen(interface) && memcmp(text, interface, n) == 0;
}

/* The n-th row with that file; `n` becomes how many are left to skip. */
static const struct place *find(const struct sites *s, const char *interface, uint64_t file, size_t *n)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->places[middle].file < file)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->n && s->places[low].file == file; low++)
		if (is_of(s, s->places[low].row, interface) && !(*n)--)
			return &s->places[low];
	return NULL;
}

bool sites_of(const struct sites *s, const char *interface, uint64_t id, size_t n, struct site *out)
{
	size_t left = n;
	if (!s)
		return false;
	const struct place *p = find(s, interface, SITES_FILE(id), &left);
	if (!p && left == n) /* it has none of its own */
		p = find(s, interface, 0, &left);
	if (!p)
		return false;
	*out = (struct site){.row = p->row};
	out->module = trailer_text(s->table, p->row, trailer_field(s->table, "module"), 0, &out->length);
	out->build_id = trailer_text(s->table, p->row, trailer_field(s->table, "build_id"), 0, &out->build_id_length);
	out->stack = trailer_text(s->table, p->row, trailer_field(s->table, "stack"), 0, &out->stack_length);
	out->offset = (uint64_t)trailer_i64(s->table, p->row, trailer_field(s->table, "offset"), 0);
	out->ranks = trailer_i64(s->table, p->row, trailer_field(s->table, "ranks"), 0);
	return true;
}

size_t site_line(const struct site *s)
{
	const char *end = s->stack_length ? memchr(s->stack, '\n', s->stack_length) : NULL;
	return end ? (size_t)(end - s->stack) : s->stack_length;
}
