/*
 * Where files were opened: from the stores' sites to the table of that name. While stores are read it has a row for each file,
 * interface and site, with the ranks that came from there. In the log most files have none: the site that most of an interface's
 * files have stands there once, with file 0.
 */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "assembly.h"
#include "reader.h"

enum { CODES = 256, AT_ONCE = 4096 };

#define FILE_BITS ((UINT64_C(1) << 40) - 1)

/* Of a text of the section: where it begins, and its length. */
struct reference {
	uint32_t at, length;
};

/* As the section has it. */
struct row {
	struct reference interface, module, build_id;
	uint64_t offset;
	uint64_t file;
	int64_t ranks;
};

struct code {
	struct reference module, build_id;
};

struct sites {
	const struct store_reader *i;
	struct trailer_section *table;
	struct code code[1 + CODES]; /* the first is the unknown one */
	size_t ncodes;
	struct reference interface[WRITTEN_COUNT];
};

static struct trailer_section *table(struct assembly *a)
{
	return &a->section[ASSEMBLY_SITES];
}

/* ---- rows of a store ---- */

static void path_of(const struct sites *s, const char *path, char *out, size_t room)
{
	const struct state_process *p = &s->i->state->process;
	if (!path[0])
		snprintf(out, room, "%.*s", (int)sizeof p->exe, p->exe);
	else if (path[0] != '/' && strchr(path, '/'))
		snprintf(out, room, "%.*s/%s", (int)sizeof p->directory, p->directory, path);
	else
		snprintf(out, room, "%s", path);
}

static struct reference add_text(struct sites *s, const char *text)
{
	struct reference to = {(uint32_t)s->table->heap.used, (uint32_t)strlen(text)};
	int code =
		s->table->heap.used > UINT32_MAX / 2 ? LOG_E_MEMORY : log_bytes_add(&s->table->heap, text, to.length);
	if (code < 0)
		s->table->failed = code;
	return to;
}

static int add_row(struct sites *s, uint64_t file, uint64_t at)
{
	uint64_t number = SITE_CODE(at) <= s->ncodes ? SITE_CODE(at) : 0;
	struct reference *interface = &s->interface[SITE_SLOT(at)];
	if (!interface->length)
		*interface = add_text(s, written_modules[SITE_SLOT(at)].key);
	return section_add_row(s->table, &(struct row){.interface = *interface,
						       .module = s->code[number].module,
						       .build_id = s->code[number].build_id,
						       .offset = number ? SITE_OFFSET(at) : 0,
						       .file = file,
						       .ranks = 1});
}

/* Of the interfaces that this process has records of it is not known where all were opened. */
static int add_unknown(struct sites *s)
{
	int code = 0;
	for (int slot = 0; code >= 0 && slot < WRITTEN_COUNT; slot++)
		if (log_container(s->i->log)->module[written_modules[slot].module].length)
			code = add_row(s, 0, SITE_UNKNOWN(slot));
	return code;
}

static void add_code(struct sites *s, const uint8_t *id, size_t n, const char *path)
{
	char text[4096], digits[2 * SITE_ID + 1] = "";
	path_of(s, path, text, sizeof text);
	for (size_t k = 0; k < n; k++)
		sprintf(digits + 2 * k, "%02x", id[k]);
	s->code[++s->ncodes] = (struct code){add_text(s, text), add_text(s, digits)};
}

static bool read_code(struct sites *s, const uint8_t *at, size_t left, size_t *size)
{
	struct state_code head;
	if (left < sizeof head)
		return false;
	memcpy(&head, at, sizeof head);
	*size = head.size;
	if (head.size > left || head.size % sizeof(struct state_site) || head.id > SITE_ID ||
	    head.size <= sizeof head + head.id || at[head.size - 1])
		return false;
	if (s->ncodes < CODES)
		add_code(s, at + sizeof head, head.id, (const char *)at + sizeof head + head.id);
	return true;
}

static int add_all(struct sites *s)
{
	struct state_site site;
	int code = 0;
	for (size_t at = SITE_HEAD, n; code >= 0 && at + sizeof site <= s->i->sites_size; at += n) {
		memcpy(&site, s->i->sites + at, sizeof site);
		n = sizeof site;
		if (!site.file && !read_code(s, s->i->sites + at, s->i->sites_size - at, &n))
			return add_unknown(s); /* damaged */
		if (site.file && SITE_SLOT(site.at) < WRITTEN_COUNT)
			code = add_row(s, site.file, site.at);
	}
	return code;
}

/* ---- what several ranks say ---- */

static int compare_numbers(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

/* When texts are shared: the same place is the same text. */
static int compare_sites(const struct row *x, const struct row *y)
{
	int order = compare_numbers(x->interface.at, y->interface.at);
	order = order ? order : compare_numbers(x->module.at, y->module.at);
	order = order ? order : compare_numbers(x->build_id.at, y->build_id.at);
	return order ? order : compare_numbers(x->offset, y->offset);
}

static int by_site(const void *left, const void *right)
{
	const struct row *x = left, *y = right;
	int order = compare_sites(x, y);
	return order ? order : compare_numbers(x->file, y->file);
}

static int by_file(const void *left, const void *right)
{
	const struct row *x = left, *y = right;
	int order = compare_numbers(x->interface.at, y->interface.at);
	return order ? order : compare_numbers(x->file, y->file);
}

static struct row *rows_of(struct trailer_section *t)
{
	return (struct row *)(void *)t->rows.at;
}

static void keep(struct trailer_section *t, uint64_t n)
{
	t->nrows = n;
	t->rows.used = n * sizeof(struct row);
}

/* Each store has brought its own copy of a text. */
struct texts {
	const struct trailer_section *of;
	struct text_index index;
	struct log_bytes first; /* struct reference by number */
	int failed;
};

static void find_first(struct texts *t, struct reference *r)
{
	bool is_new = false;
	size_t number = text_number(&t->index, t->of->heap.at + r->at, r->length, &is_new);
	if (number == SIZE_MAX || (is_new && log_bytes_add(&t->first, r, sizeof *r) < 0))
		t->failed = LOG_E_MEMORY;
	else
		*r = ((struct reference *)(void *)t->first.at)[number];
}

static int share_texts(struct trailer_section *s)
{
	struct texts t = {.of = s};
	struct row before = {.file = 0}, first = before, *rows = rows_of(s);
	for (uint64_t n = 0; n < s->nrows && !t.failed; n++) {
		bool same = n && memcmp(&rows[n], &before, offsetof(struct row, offset)) == 0;
		before = rows[n];
		if (!same) {
			first = rows[n];
			find_first(&t, &first.interface);
			find_first(&t, &first.module);
			find_first(&t, &first.build_id);
		}
		memcpy(&rows[n], &first, offsetof(struct row, offset));
	}
	text_index_free(&t.index);
	log_bytes_free(&t.first);
	return t.failed;
}

static void unite_shared(struct assembly *a)
{
	struct trailer_section *t = table(a);
	struct row *rows = rows_of(t);
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
	a->united_sites = t->nrows;
}

static int unite(struct assembly *a)
{
	int code = share_texts(table(a));
	if (code >= 0)
		unite_shared(a);
	return code;
}

int assembly_add_sites(struct assembly *a, struct store_reader *i)
{
	_Static_assert(sizeof(struct row) == 48, "the section's row");
	if (i->rank < 0)
		return 0;
	struct sites *s = log_alloc(sizeof *s);
	if (!s)
		return LOG_E_MEMORY;
	*s = (struct sites){.i = i, .table = table(a)};
	int code = i->sites ? add_all(s) : 0;
	if (code >= 0 && (!i->sites || i->state->sites_lost))
		code = add_unknown(s);
	log_free(s);
	if (code >= 0 && table(a)->nrows > 2 * a->united_sites + AT_ONCE)
		code = unite(a);
	return code;
}

/* ---- as the log has it ---- */

static bool known(const struct row *r)
{
	return r->module.length != 0;
}

/* Files that were opened in several places have all their rows: these are marked. */
static void mark_several(struct row *rows, uint64_t n)
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
static struct row usual_of(const struct row *rows, uint64_t n)
{
	struct row usual = {.file = 0};
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
static uint64_t shorten(const struct row *rows, uint64_t n, struct row *to)
{
	const struct row usual = usual_of(rows, n);
	uint64_t kept = 0;
	if (known(&usual))
		to[kept++] = usual;
	for (uint64_t k = 0; k < n; k++) {
		if (rows[k].file && (rows[k].ranks < 0 || compare_sites(&usual, &rows[k]) != 0)) {
			to[kept] = rows[k];
			to[kept].ranks = rows[k].ranks < 0 ? -rows[k].ranks : rows[k].ranks;
			to[kept++].file &= FILE_BITS;
		}
	}
	return kept;
}

/* Most programs open all files of an interface at one place. Takes those rows out; returns how many interfaces are at `to`. */
static uint64_t take_alike(struct trailer_section *t, struct row *to)
{
	struct row *rows = rows_of(t), first[WRITTEN_COUNT];
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

int assembly_end_sites(struct assembly *a)
{
	struct trailer_section *t = table(a);
	int code = share_texts(t);
	struct row *to = code < 0 ? NULL : log_alloc((t->nrows + WRITTEN_COUNT) * sizeof *to + 1);
	if (!to)
		return LOG_E_MEMORY;
	uint64_t kept = take_alike(t, to);
	bool any = kept > 0;
	unite_shared(a);
	struct row *rows = rows_of(t);
	mark_several(rows, t->nrows);
	log_sort(rows, t->nrows, sizeof *rows, by_site);
	for (uint64_t begin = 0, end; begin < t->nrows; begin = end) {
		for (end = begin; end < t->nrows && rows[begin].interface.at == rows[end].interface.at; end++)
			any |= known(&rows[end]);
		kept += shorten(rows + begin, end - begin, to + kept);
	}
	t->rows.used = 0;
	t->nrows = any ? kept : 0;
	code = log_bytes_add(&t->rows, to, t->nrows * sizeof *to);
	log_free(to);
	return code;
}
