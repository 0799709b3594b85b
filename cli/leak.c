#include "leak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trailer.h"

/* Words are kept sorted; short ones would be found by chance. */
enum { SHORTEST = 4 };

struct words {
	char **at;
	size_t used, room;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_word(struct words *w, const char *text, size_t n)
{
	if (n < SHORTEST || *text == '<')
		return;
	if (w->used == w->room) {
		size_t room = w->room ? 2 * w->room : 1024;
		char **more = realloc(w->at, room * sizeof *more);
		if (!more)
			return;
		w->at = more;
		w->room = room;
	}
	w->at[w->used++] = strndup(text, n);
}

static void each_part(const char *text, const char *separators, void (*see)(void *, const char *, size_t),
		      void *context)
{
	while (*text) {
		size_t n = strcspn(text, separators);
		see(context, text, n);
		text += n + (text[n] != '\0');
	}
}

static void see_secret(void *context, const char *text, size_t n)
{
	add_word(context, text, n);
}

static bool own_name(const char *name)
{
	return *name == '<' || !strncmp(name, "heatmap:", 8);
}

static struct words secrets_of(struct log *log)
{
	struct words w = {0};
	const struct log_job *job;
	if (log_job(log, &job, NULL) < 0)
		return w;
	log_names(log, NULL);
	for (size_t i = 0; i < log_names_count(log); i++) {
		uint64_t id;
		const char *name = log_name_at(log, i, &id);
		const struct log_pair *m = log_mount_of(job, name);
		size_t skip = m && strlen(m->key) > 1 ? strlen(m->key) : 0;
		if (!own_name(name))
			each_part(name + skip, "/:", see_secret, &w);
	}
	each_part(job->exe, " /", see_secret, &w);
	if (w.used)
		qsort(w.at, w.used, sizeof *w.at, by_text);
	return w;
}

struct search {
	const struct words *secrets;
	const char *where;
	char *found;
	bool hit;
};

static void see_public(void *context, const char *text, size_t n)
{
	struct search *s = context;
	char word[512], *key = word;
	if (n < SHORTEST || n >= sizeof word || s->hit)
		return;
	memcpy(word, text, n);
	word[n] = '\0';
	if (s->secrets->used && bsearch(&key, s->secrets->at, s->secrets->used, sizeof *s->secrets->at, by_text)) {
		s->hit = true;
		snprintf(s->found, LEAK_TEXT, "the %s still says \"%.100s\"", s->where, word);
	}
}

static void search_text(struct search *s, const char *where, const char *text)
{
	s->where = where;
	each_part(text, "/: =", see_public, s);
}

static void search_table(struct search *s, const struct trailer_table *t, const char *name)
{
	/* Words of our own: classes, interfaces, operations. */
	if (!strcmp(name, "operation") || !strcmp(name, "excluded") || !strcmp(name, "total"))
		return;
	for (uint64_t row = 0; row < trailer_rows(t); row++)
		for (size_t i = 0; i < trailer_fields(t); i++) {
			const struct trailer_field *f = trailer_field_at(t, i);
			char text[8192];
			size_t n;
			if (f->type != TRAILER_STR || !strcmp(f->name, "ended"))
				continue;
			const char *at = trailer_text(t, row, f, 0, &n);
			n = n < sizeof text - 1 ? n : sizeof text - 1;
			memcpy(text, at, n);
			text[n] = '\0';
			search_text(s, name, text);
		}
}

static int search_trailer(struct search *s, struct log *log, struct log_error *err)
{
	struct trailer *trailer;
	int code = trailer_open(&trailer, log, err);
	if (code < 0 || !trailer)
		return code;
	for (size_t i = 0; code >= 0 && i < trailer_count(trailer); i++) {
		struct trailer_table *t;
		const char *name = trailer_at(trailer, i)->name;
		code = trailer_find(trailer, name, &t, err);
		if (code >= 0 && t) {
			search_table(s, t, name);
			trailer_free(t);
		}
	}
	trailer_close(trailer);
	return code;
}

static int search_log(struct search *s, struct log *log, struct log_error *err)
{
	const struct log_job *job;
	int code = log_job(log, &job, err);
	if (code < 0 || (code = log_names(log, err)) < 0)
		return code;
	search_text(s, "command", job->exe);
	for (size_t i = 0; i < job->nmetadata; i++)
		if (strcmp(job->metadata[i].key, "lib_ver") && strcmp(job->metadata[i].key, "h"))
			search_text(s, "metadata", job->metadata[i].value);
	for (size_t i = 0; i < log_names_count(log); i++) {
		uint64_t id;
		const char *name = log_name_at(log, i, &id);
		const struct log_pair *m = log_mount_of(job, name);
		if (!own_name(name))
			search_text(s, "name table", name + (m && strlen(m->key) > 1 ? strlen(m->key) : 0));
	}
	return search_trailer(s, log, err);
}

int leak_search(struct log *original, const char *path, char found[LEAK_TEXT], struct log_error *err)
{
	struct words secrets = secrets_of(original);
	struct search s = {.secrets = &secrets, .found = found};
	struct log *log;
	int code = log_open_file(&log, path, err);
	if (code >= 0) {
		code = search_log(&s, log, err);
		log_close(log);
	}
	for (size_t i = 0; i < secrets.used; i++)
		free(secrets.at[i]);
	free(secrets.at);
	return code < 0 ? code : s.hit;
}
