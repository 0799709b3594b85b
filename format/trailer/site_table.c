#include "site_table.h"

#include <string.h>

#include "index.h"
#include "schema.h"
#include "sites.h"

struct site_text site_text(struct trailer_section *t, const char *text, size_t n)
{
	struct site_text to = {(uint32_t)t->heap.used, (uint32_t)n};
	int code = t->heap.used > UINT32_MAX / 2 ? LOG_E_MEMORY : log_bytes_add(&t->heap, text, to.length);
	if (code < 0)
		t->failed = code;
	return to;
}

/* ---- rows that say the same ---- */

static int compare_numbers(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

/* When texts are shared: the same place is the same text. */
static int compare_sites(const struct site_row *x, const struct site_row *y)
{
	int order = compare_numbers(x->interface.at, y->interface.at);
	order = order ? order : compare_numbers(x->module.at, y->module.at);
	order = order ? order : compare_numbers(x->build_id.at, y->build_id.at);
	order = order ? order : compare_numbers(x->stack.at, y->stack.at);
	return order ? order : compare_numbers(x->offset, y->offset);
}

static int by_site(const void *left, const void *right)
{
	const struct site_row *x = left, *y = right;
	int order = compare_sites(x, y);
	return order ? order : compare_numbers(x->file, y->file);
}

static int by_file(const void *left, const void *right)
{
	const struct site_row *x = left, *y = right;
	int order = compare_numbers(x->interface.at, y->interface.at);
	return order ? order : compare_numbers(x->file, y->file);
}

static struct site_row *rows_of(struct trailer_section *t)
{
	return (struct site_row *)(void *)t->rows.at;
}

static void keep(struct trailer_section *t, uint64_t n)
{
	t->nrows = n;
	t->rows.used = n * sizeof(struct site_row);
}

/* Each store has brought its own copy of a text. */
struct texts {
	const struct trailer_section *of;
	struct text_index index;
	struct log_bytes first; /* struct site_text by number */
	int failed;
};

static void find_first(struct texts *t, struct site_text *r)
{
	bool is_new = false;
	size_t number = text_number(&t->index, t->of->heap.at + r->at, r->length, &is_new);
	if (number == SIZE_MAX || (is_new && log_bytes_add(&t->first, r, sizeof *r) < 0))
		t->failed = LOG_E_MEMORY;
	else
		*r = ((struct site_text *)(void *)t->first.at)[number];
}

static int share_texts(struct trailer_section *s)
{
	struct texts t = {.of = s};
	struct site_row before = {.file = 0}, first = before, *rows = rows_of(s);
	for (uint64_t n = 0; n < s->nrows && !t.failed; n++) {
		bool same = n && memcmp(&rows[n], &before, offsetof(struct site_row, offset)) == 0;
		before = rows[n];
		if (!same) {
			first = rows[n];
			find_first(&t, &first.interface);
			find_first(&t, &first.module);
			find_first(&t, &first.build_id);
			find_first(&t, &first.stack);
		}
		memcpy(&rows[n], &first, offsetof(struct site_row, offset));
	}
	text_index_free(&t.index);
	log_bytes_free(&t.first);
	return t.failed;
}

static void unite_shared(struct trailer_section *t)
{
	struct site_row *rows = rows_of(t);
	uint64_t kept = 0;
	if (!t->nrows)
		return;
	log_sort(rows, t->nrows, sizeof *rows, by_site);
	for (uint64_t n = 1; n < t->nrows; n++)
		if (by_site(&rows[kept], &rows[n]) == 0)
			rows[kept].ranks += rows[n].ranks;
		else
			rows[++kept] = rows[n];
	keep(t, kept + 1);
}

int site_table_unite(struct trailer_section *t)
{
	int code = share_texts(t);
	if (code >= 0)
		unite_shared(t);
	return code;
}

/* ---- as the log has it ---- */

static bool known(const struct site_row *r)
{
	return r->module.length || r->stack.length;
}

/* Files that were opened in several places have all their rows: these are marked. */
static void mark_several(struct site_row *rows, uint64_t n)
{
	log_sort(rows, n, sizeof *rows, by_file);
	for (uint64_t begin = 0, end; begin < n; begin = end) {
		for (end = begin + 1; end < n && by_file(&rows[begin], &rows[end]) == 0; end++)
			;
		for (uint64_t k = begin; end - begin > 1 && k < end; k++)
			rows[k].ranks = -rows[k].ranks;
	}
}

/* The site that most files of the interface have, which rows [0, n) are of; unknown where it is not known of all. */
static struct site_row usual_of(const struct site_row *rows, uint64_t n)
{
	struct site_row usual = {.file = 0};
	uint64_t most = 0;
	for (uint64_t begin = 0, end; begin < n; begin = end) {
		uint64_t files = 0;
		for (end = begin; end < n && compare_sites(&rows[begin], &rows[end]) == 0; end++)
			files += rows[end].ranks > 0;
		if (files > most)
			usual = rows[begin];
		most = files > most ? files : most;
	}
	for (uint64_t k = 0; k < n; k++)
		if (!rows[k].file)
			usual = rows[k];
	usual.file = 0;
	usual.ranks = 0;
	return usual;
}

/* Rows of one interface, at `to` what is kept of them. */
static uint64_t shorten(const struct site_row *rows, uint64_t n, struct site_row *to)
{
	const struct site_row usual = usual_of(rows, n);
	uint64_t kept = 0;
	if (known(&usual))
		to[kept++] = usual;
	for (uint64_t k = 0; k < n; k++) {
		if (rows[k].file && (rows[k].ranks < 0 || compare_sites(&usual, &rows[k]) != 0)) {
			to[kept] = rows[k];
			to[kept].ranks = rows[k].ranks < 0 ? -rows[k].ranks : rows[k].ranks;
			to[kept].file = SITES_FILE(to[kept].file);
			kept++;
		}
	}
	return kept;
}

/* Most programs open all files of an interface at one place. Takes those rows out; returns how many interfaces are at `to`. */
static uint64_t take_alike(struct trailer_section *t, struct site_row *to)
{
	struct site_row *rows = rows_of(t), first[WRITTEN_COUNT];
	bool several[WRITTEN_COUNT] = {false};
	uint64_t n = 0, kept = 0, taken = 0, at;
	for (uint64_t k = 0; k < t->nrows; k++) {
		for (at = 0; at < n && first[at].interface.at != rows[k].interface.at;)
			at++;
		if (at == n && n < WRITTEN_COUNT)
			first[n++] = rows[k];
		several[at] |= !rows[k].file || compare_sites(&first[at], &rows[k]) != 0;
	}
	for (uint64_t k = 0; k < t->nrows; k++) {
		for (at = 0; first[at].interface.at != rows[k].interface.at;)
			at++;
		if (several[at])
			rows[kept++] = rows[k];
	}
	keep(t, kept);
	for (at = 0; at < n; at++) {
		if (several[at] || !known(&first[at]))
			continue;
		to[taken] = first[at];
		to[taken].file = 0;
		to[taken++].ranks = 0;
	}
	return taken;
}

static bool any_stack(const struct site_row *rows, uint64_t n)
{
	while (n && !rows[n - 1].stack.length)
		n--;
	return n;
}

/* Adds rows to the empty section, whose schema becomes that of logs without Python. */
static int add_without_stacks(struct trailer_section *t, const struct site_row *rows, uint64_t n)
{
	enum { TEXTS = offsetof(struct site_row, stack), REST = offsetof(struct site_row, offset) };
	static const char schema[] =
		"interface str\nmodule str\nbuild_id str\noffset u64 offset\nfile u64\nranks i64\n";
	if (!n)
		return 0;
	log_free(t->fields);
	log_bytes_free(&t->schema);
	t->coming = schema;
	t->next = 0;
	int code = section_need_fields(t);
	for (uint64_t k = 0; code >= 0 && k < n; k++) {
		code = log_bytes_add(&t->rows, &rows[k], TEXTS);
		if (code >= 0)
			code = log_bytes_add(&t->rows, (const char *)&rows[k] + REST, sizeof *rows - REST);
	}
	return code;
}

int site_table_end(struct trailer_section *t)
{
	int code = share_texts(t);
	struct site_row *to = code < 0 ? NULL : log_alloc((t->nrows + WRITTEN_COUNT) * sizeof *to + 1);
	if (!to)
		return LOG_E_MEMORY;
	uint64_t kept = take_alike(t, to);
	bool any = kept > 0;
	unite_shared(t);
	struct site_row *rows = rows_of(t);
	mark_several(rows, t->nrows);
	log_sort(rows, t->nrows, sizeof *rows, by_site);
	for (uint64_t begin = 0, end; begin < t->nrows; begin = end) {
		for (end = begin; end < t->nrows && rows[begin].interface.at == rows[end].interface.at; end++)
			any |= known(&rows[end]);
		kept += shorten(rows + begin, end - begin, to + kept);
	}
	t->rows.used = 0;
	t->nrows = any ? kept : 0;
	code = any_stack(to, t->nrows) ? log_bytes_add(&t->rows, to, t->nrows * sizeof *to)
				       : add_without_stacks(t, to, t->nrows);
	log_free(to);
	return code;
}
