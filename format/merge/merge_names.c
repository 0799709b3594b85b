/*
 * Names of all logs, each once. An id is the hash of a name, and what has one id is taken as one file; where two logs have
 * different names for it, those are two files, and the later one gets another id.
 */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "merging.h"

/* Logs of 2.x and older have the mount point and the end of a name: `/scratch/...point-0042.dat`. */
static bool shortens(const char *name, const char *whole)
{
	const char *gap = strstr(name, "...");
	size_t before = gap ? (size_t)(gap - name) : 0, after = gap ? strlen(gap + 3) : 0, n = strlen(whole);
	return gap && n >= before + after && !memcmp(name, whole, before) && !memcmp(gap + 3, whole + n - after, after);
}

static bool agree(const char *a, const char *b)
{
	return !*a || !*b || !strcmp(a, b) || shortens(a, b) || shortens(b, a);
}

static const char *text_of(const struct merge_names *n, size_t number)
{
	return (const char *)n->texts.at + n->names[number].text;
}

static int keep_text(struct merge_names *n, size_t number, const char *name)
{
	n->names[number].text = n->texts.used;
	return log_bytes_add(&n->texts, name, strlen(name) + 1);
}

/* The id itself, or one of the name's own that is free or the name's already. */
static int give_id(struct merge_names *n, uint64_t id, const char *name, uint64_t *given)
{
	bool is_new = false;
	size_t number;
	*given = id;
	for (uint64_t level = 1;; *given = log_hash(name, strlen(name), level++)) {
		number = index_number(&n->ids, *given, &is_new);
		if (number == SIZE_MAX || (is_new && !index_grow(&n->names, number, sizeof *n->names)))
			return LOG_E_MEMORY;
		if (is_new || agree(text_of(n, number), name))
			break;
	}
	if (is_new)
		n->names[number].id = *given;
	return is_new || (*name && !*text_of(n, number)) ? keep_text(n, number, name) : 0;
}

static int read_name(struct merging *g, struct merge_part *p, uint64_t id, const char *name)
{
	uint64_t given;
	int code = give_id(&g->names, id, name, &given);
	if (code < 0 || given == id)
		return code;
	if (!index_grow(&p->moved, p->nmoved, sizeof *p->moved))
		return LOG_E_MEMORY;
	p->moved[p->nmoved++] = (struct merge_moved){id, given};
	g->options->renamed++;
	return 0;
}

int merging_open(struct merging *g, const struct merge_part *p, struct log **log)
{
	g->options->offender = p->path;
	if (g->options->reads)
		g->options->reads(g->step, (size_t)(p - g->parts), g->ngiven);
	return log_open_file(log, p->path, g->err);
}

int merge_names_read(struct merging *g)
{
	int code = 0;
	g->step = "names";
	for (size_t i = 0; code >= 0 && i < g->nparts; i++) {
		struct log *log;
		code = merging_open(g, &g->parts[i], &log);
		if (code >= 0)
			code = log_names(log, g->err);
		for (size_t k = 0; code >= 0 && k < log_names_count(log); k++) {
			uint64_t id;
			const char *name = log_name_at(log, k, &id);
			code = read_name(g, &g->parts[i], id, name);
		}
		log_close(log);
	}
	return code;
}

int merge_names_write(struct merging *g)
{
	int code = 0;
	for (size_t i = 0; code >= 0 && i < g->names.ids.used; i++)
		code = log_write_name(g->writer, g->names.names[i].id, text_of(&g->names, i));
	return code;
}

void merge_names_forget(struct merge_names *n)
{
	index_free(&n->ids);
	log_free(n->names);
	log_bytes_free(&n->texts);
}

/* A log has its names in order of their ids. */
static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct merge_moved *)a)->from, y = ((const struct merge_moved *)b)->from;
	return (x > y) - (x < y);
}

uint64_t merge_id(const struct merge_part *p, uint64_t id)
{
	const struct merge_moved key = {.from = id};
	const struct merge_moved *m = p->nmoved ? bsearch(&key, p->moved, p->nmoved, sizeof key, by_id) : NULL;
	return m ? m->to : id;
}
