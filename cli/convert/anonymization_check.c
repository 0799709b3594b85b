#include "anonymization_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anonymous.h"
#include "region.h"
#include "trailer.h"

/*
 * Texts are compared word by word; shorter words would be found by chance. What a region unpacks to is searched as it is,
 * too, for long words and for ids, whatever the schema says of its bytes.
 */
enum { SHORTEST = 4, SHORTEST_IN_BYTES = 8, LONGEST = 512 };
#define SMALLEST_ID ((uint64_t)1 << 32)

static const char separators[] = " \t\n/:=,;\"'";

struct words {
	char **at;
	size_t used, room;
	bool failed;
};

struct secrets {
	struct words words, public; /* of well-known mount points, types and the version, which stay */
	struct log_bytes ids;
};

typedef void see_text(void *context, const char *where, const char *text, size_t n);

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_id(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

static bool has_word(const struct words *w, const char *word)
{
	return w->used && bsearch(&word, w->at, w->used, sizeof *w->at, by_text);
}

static void sort_words(struct words *w)
{
	size_t kept = 0;
	if (w->used)
		qsort(w->at, w->used, sizeof *w->at, by_text);
	for (size_t i = 0; i < w->used; i++)
		if (kept && !strcmp(w->at[kept - 1], w->at[i]))
			free(w->at[i]);
		else
			w->at[kept++] = w->at[i];
	w->used = kept;
}

static void free_words(struct words *w)
{
	for (size_t i = 0; i < w->used; i++)
		free(w->at[i]);
	free(w->at);
}

static void add_word(struct words *w, const char *text, size_t n)
{
	if (w->used == w->room) {
		size_t room = w->room ? 2 * w->room : 1024;
		char **more = realloc(w->at, room * sizeof *more);
		w->failed |= !more;
		if (!more)
			return;
		w->at = more;
		w->room = room;
	}
	char *word = strndup(text, n);
	w->failed |= !word;
	if (word)
		w->at[w->used++] = word;
}

/* Own names stay whole: they may hold a separator. */
static void each_word(see_text *see, void *context, const char *where, const char *text, size_t n)
{
	if (pseudonym_is_own(text, n))
		return;
	for (size_t at = 0, end; at < n; at = end + 1) {
		for (end = at; end < n && !strchr(separators, text[end]);)
			end++;
		if (end - at >= SHORTEST && end - at < LONGEST)
			see(context, where, text + at, end - at);
	}
}

/* ---- every text of a log ---- */

static void each_name(see_text *see, void *context, struct log *log, const struct log_job *job)
{
	for (size_t i = 0; i < log_names_count(log); i++) {
		uint64_t id;
		const char *name = log_name_at(log, i, &id);
		const struct log_pair *m = log_mount_of(job, name);
		size_t n = strlen(name), at = m ? anonymous_mount_kept(m->key) : 0;
		for (size_t part; !pseudonym_is_own(name, n) && at < n; at += part + 1) {
			part = strcspn(name + at, "/:");
			each_word(see, context, "name table", name + at, part);
		}
	}
}

static void each_field(see_text *see, void *context, const char *where, const struct schema_field *f, size_t n,
		       const uint8_t *record)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].type == FIELD_TEXT && f[i].count) {
			const char *text = (const char *)record + f[i].offset;
			each_word(see, context, where, text, strnlen(text, 8u * f[i].count));
		}
}

static void each_text_of(see_text *see, void *context, const struct log_record *r)
{
	const struct schema_module *m = r->schema;
	each_field(see, context, m->name, m->fields, m->nfields, r->data);
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_element *e = m->fields[i].count ? NULL : m->fields[i].element;
		size_t n = 0;
		const uint8_t *at = e ? log_record_array(r, &m->fields[i], &n) : NULL;
		for (size_t k = 0; at && k < n; k++)
			each_field(see, context, m->name, e->fields, e->nfields, at + k * e->size);
	}
}

static int each_record(see_text *see, void *context, struct log *log, int module, struct log_error *err)
{
	struct log_records *records;
	struct log_record r;
	if (!log_container(log)->module[module].length)
		return LOG_OK;
	int code = log_records_open(&records, log, module, err);
	if (code == LOG_E_UNSUPPORTED)
		return LOG_OK;
	if (code >= 0 && (code = log_records_header(records, &r, err)) > 0)
		each_text_of(see, context, &r);
	while (code >= 0 && (code = log_records_next(records, &r, err)) > 0)
		each_text_of(see, context, &r);
	log_records_close(records);
	return code;
}

/* Of a mount point, what may stay. */
static size_t kept_of(const char *section, const char *field, const char *text, size_t n)
{
	char point[4096];
	if (strcmp(section, "mounted") != 0 || strcmp(field, "point") != 0)
		return 0;
	snprintf(point, sizeof point, "%.*s", (int)n, text);
	return anonymous_mount_kept(point);
}

/* Numbers of lines stay. */
static void each_stack(see_text *see, void *context, const char *text, size_t n)
{
	struct stack_line l = {.begin = text};
	while (stack_line_next(&l, text + n)) {
		size_t path = (size_t)(l.number - l.path);
		if (!anonymous_is_pythons(l.begin, l.function))
			each_word(see, context, "sites", l.begin, l.function);
		if (!anonymous_is_pythons(l.path, path))
			each_word(see, context, "sites", l.path, path);
	}
}

static void each_cell(see_text *see, void *context, const char *section, const struct trailer_table *t)
{
	for (size_t i = 0; i < trailer_fields(t); i++) {
		const struct trailer_field *f = trailer_field_at(t, i);
		uint32_t count = f->type == TRAILER_STR ? f->count : 1;
		bool stack = !strcmp(f->name, "stack");
		if ((f->type != TRAILER_STR && f->type != TRAILER_CHAR) || anonymous_keeps_text(section, f->name))
			continue;
		for (uint64_t row = 0; row < trailer_rows(t); row++)
			for (uint32_t at = 0; at < count; at++) {
				size_t n;
				const char *text = trailer_text(t, row, f, at, &n);
				size_t kept = kept_of(section, f->name, text, n);
				if (stack)
					each_stack(see, context, text, n);
				else
					each_word(see, context, section, text + kept, n - kept);
			}
	}
}

static int each_section(see_text *see, void *context, struct log *log, struct log_error *err)
{
	struct trailer *trailer;
	int code = trailer_open(&trailer, log, err);
	for (size_t i = 0; code >= 0 && i < trailer_count(trailer); i++) {
		struct trailer_table *t;
		const char *name = trailer_at(trailer, i)->name;
		code = trailer_find(trailer, name, &t, err);
		if (code >= 0 && t) {
			each_cell(see, context, name, t);
			trailer_free(t);
		}
	}
	if (code >= 0)
		trailer_close(trailer);
	return code;
}

static int each_text(see_text *see, void *context, struct log *log, struct log_error *err)
{
	const struct log_job *job;
	int code = log_job(log, &job, err);
	if (code < 0 || (code = log_names(log, err)) < 0)
		return code;
	each_word(see, context, "command", job->exe, strlen(job->exe));
	for (size_t i = 0; i < job->nmounts; i++) {
		const char *rest = job->mounts[i].key + anonymous_mount_kept(job->mounts[i].key);
		each_word(see, context, "list of mounts", rest, strlen(rest));
		if (!anonymous_keeps_type(job->mounts[i].value))
			each_word(see, context, "list of mounts", job->mounts[i].value, strlen(job->mounts[i].value));
	}
	for (size_t i = 0; i < job->nmetadata; i++)
		if (strcmp(job->metadata[i].key, "lib_ver") && !anonymous_keeps_pair(&job->metadata[i]))
			each_word(see, context, "metadata", job->metadata[i].value, strlen(job->metadata[i].value));
	each_name(see, context, log, job);
	for (int m = 0; code >= 0 && m < LOG_MAX_MODULES; m++)
		code = each_record(see, context, log, m, err);
	return code < 0 ? code : each_section(see, context, log, err);
}

/* ---- what must be gone ---- */

static void see_public(void *context, const char *where, const char *text, size_t n)
{
	add_word(context, text, n);
}

static void see_secret(void *context, const char *where, const char *text, size_t n)
{
	struct secrets *s = context;
	char word[LONGEST];
	memcpy(word, text, n);
	word[n] = '\0';
	if (!has_word(&s->public, word))
		add_word(&s->words, text, n);
}

static void add_ids(struct secrets *s, struct log *log)
{
	for (size_t i = 0; i < log_names_count(log); i++) {
		uint64_t id;
		const char *name = log_name_at(log, i, &id);
		if (id >= SMALLEST_ID && !pseudonym_is_own(name, strlen(name)))
			s->words.failed |= log_bytes_add(&s->ids, &id, sizeof id) < 0;
	}
	if (s->ids.used)
		qsort(s->ids.at, s->ids.used / 8, 8, by_id);
}

static int find_secrets(struct secrets *s, struct log *log, struct log_error *err)
{
	const struct log_job *job;
	int code = log_job(log, &job, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < job->nmounts; i++) {
		const struct log_pair *m = &job->mounts[i];
		each_word(see_public, &s->public, "", m->key, anonymous_mount_kept(m->key));
		if (anonymous_keeps_type(m->value))
			each_word(see_public, &s->public, "", m->value, strlen(m->value));
	}
	for (size_t i = 0; i < job->nmetadata; i++) /* a merged log has it among its parts' metadata, too */
		if (!strcmp(job->metadata[i].key, "lib_ver"))
			each_word(see_public, &s->public, "", job->metadata[i].value, strlen(job->metadata[i].value));
	sort_words(&s->public);
	code = each_text(see_secret, s, log, err);
	sort_words(&s->words);
	add_ids(s, log);
	if (code >= 0 && (s->words.failed || s->public.failed))
		code = log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return code;
}

/* ---- looking for it ---- */

struct search {
	const struct secrets *secrets;
	const char *where;
	char *found;
	bool hit;
	char word[LONGEST]; /* of a region's bytes, as far as it has come */
	size_t used;
};

static void see_word(void *context, const char *where, const char *text, size_t n)
{
	struct search *s = context;
	char word[LONGEST];
	if (s->hit)
		return;
	memcpy(word, text, n);
	word[n] = '\0';
	if (has_word(&s->secrets->words, word)) {
		s->hit = true;
		snprintf(s->found, LEAK_TEXT, "the %s still says \"%.100s\"", where, word);
	}
}

static void search_id(struct search *s, const char *where, uint64_t id)
{
	s->hit = id >= SMALLEST_ID && s->secrets->ids.used &&
		 bsearch(&id, s->secrets->ids.at, s->secrets->ids.used / 8, 8, by_id);
	if (s->hit)
		snprintf(s->found, LEAK_TEXT, "the %s still has record id %llu", where, (unsigned long long)id);
}

static void search_bytes(struct search *s, const char *where, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n && !s->hit; i++) {
		if (data[i] > ' ' && data[i] != 0x7f && !strchr(separators, data[i])) {
			if (s->used < LONGEST)
				s->word[s->used++] = (char)data[i];
			continue;
		}
		if (s->used >= SHORTEST_IN_BYTES && s->used < LONGEST)
			see_word(s, where, s->word, s->used);
		s->used = 0;
	}
	for (size_t i = 0; i + 8 <= n && !s->hit; i += 8) {
		uint64_t id;
		memcpy(&id, data + i, sizeof id);
		search_id(s, where, id);
	}
}

/* Numbers stand at multiples of eight bytes. */
static int search_region(struct search *s, const char *where, const struct log_container *c,
			 const struct source *source, const struct log_region *which, struct log_error *err)
{
	static uint8_t bytes[1 << 16];
	struct region r;
	size_t used = 0;
	int64_t got = region_open(&r, c, source, which, err);
	if (got < 0 || !which->length)
		return (int)got;
	while ((got = region_read(&r, bytes + used, sizeof bytes - used, err)) > 0) {
		used += (size_t)got;
		size_t whole = used & ~(size_t)7;
		search_bytes(s, where, bytes, whole);
		memmove(bytes, bytes + whole, used - whole);
		used -= whole;
	}
	search_bytes(s, where, bytes, used);
	search_bytes(s, where, (const uint8_t *)"", 1);
	region_close(&r);
	return (int)got;
}

/* Accesses in the trailer: of a record there are an id and a host, and that one is a text. */
static int search_accesses(struct search *s, struct log *log, int module, struct log_error *err)
{
	struct log_records *records;
	struct log_record r;
	int code = log_records_open(&records, log, module, err);
	while (code >= 0 && !s->hit && (code = log_records_next(records, &r, err)) > 0)
		search_id(s, log_module_name(module), r.id);
	log_records_close(records);
	return code;
}

static int search_regions(struct search *s, struct log *log, const char *path, struct log_error *err)
{
	const struct log_container *c = log_container(log);
	struct source source;
	int code = source_open_file(&source, path, err);
	if (code < 0)
		return code;
	code = search_region(s, "job record", c, &source, &c->job, err);
	if (code >= 0)
		code = search_region(s, "name table", c, &source, &c->names, err);
	for (int m = 0; code >= 0 && m < LOG_MAX_MODULES; m++) {
		bool in_region = c->module[m].offset != c->accesses[m].offset;
		if (c->accesses[m].length)
			code = search_accesses(s, log, m, err);
		if (code >= 0 && in_region)
			code = search_region(s, log_module_name(m), c, &source, &c->module[m], err);
	}
	source_close(&source);
	return code;
}

int leak_search(struct log *original, const char *path, char found[LEAK_TEXT], struct log_error *err)
{
	struct secrets secrets = {0};
	struct search s = {.secrets = &secrets, .found = found};
	struct log *log;
	int code = find_secrets(&secrets, original, err);
	if (code >= 0 && (code = log_open_file(&log, path, err)) >= 0) {
		code = each_text(see_word, &s, log, err);
		if (code >= 0)
			code = search_regions(&s, log, path, err);
		log_close(log);
	}
	free_words(&secrets.words);
	free_words(&secrets.public);
	log_bytes_free(&secrets.ids);
	return code < 0 ? code : s.hit;
}
