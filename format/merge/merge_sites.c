/* Where files were opened: of each record that goes into the merged log, what its own log says of it. */
#include <string.h>

#include "merging.h"
#include "reduce.h"
#include "site_table.h"
#include "sites.h"

enum { AT_ONCE = 1 << 16 };

struct merge_sites {
	struct trailer_section table;
	struct sites *of_part;     /* NULL = its log does not tell */
	struct text_index texts;   /* of the table: each once, */
	struct log_bytes places;   /* and where: struct site_text by number */
	struct text_index several; /* rows that are in the table, of files opened in several places */
	uint64_t united;           /* rows when the table was last united */
};

int merge_sites_begin(struct merging *g)
{
	bool any = false;
	for (size_t i = 0; i < g->nparts; i++)
		any |= g->parts[i].sites;
	if (!any || g->options->drop_trailer)
		return 0;
	g->sites = log_alloc(sizeof *g->sites);
	return g->sites ? section_begin(&g->sites->table, "sites", SITES_SCHEMA) : LOG_E_MEMORY;
}

void merge_sites_forget(struct merging *g)
{
	struct merge_sites *s = g->sites;
	if (!s)
		return;
	merge_sites_close(g);
	section_free(&s->table);
	text_index_free(&s->texts);
	text_index_free(&s->several);
	log_bytes_free(&s->places);
	log_free(s);
	g->sites = NULL;
}

int merge_sites_open(struct merging *g, struct log *log)
{
	return g->sites ? sites_open(&g->sites->of_part, log, g->err) : 0;
}

void merge_sites_close(struct merging *g)
{
	if (g->sites)
		sites_close(g->sites->of_part);
	if (g->sites)
		g->sites->of_part = NULL;
}

/* ---- rows ---- */

static struct site_text text_of(struct merge_sites *s, const char *text, size_t n)
{
	bool is_new = false;
	size_t number = text_number(&s->texts, text, n, &is_new);
	struct site_text to = {0, 0};
	if (is_new)
		to = site_text(&s->table, text, n);
	if (number == SIZE_MAX || (is_new && log_bytes_add(&s->places, &to, sizeof to) < 0))
		s->table.failed = LOG_E_MEMORY;
	return s->table.failed ? to : ((struct site_text *)(void *)s->places.at)[number];
}

static int add_row(struct merge_sites *s, const char *interface, const struct site *at, uint64_t file, int64_t ranks)
{
	struct site_row row = {
		.interface = text_of(s, interface, strlen(interface)),
		.module = text_of(s, at->module, at->length),
		.build_id = text_of(s, at->build_id, at->build_id_length),
		.stack = text_of(s, at->stack, at->stack_length),
		.offset = at->offset,
		.file = file,
		.ranks = ranks,
	};
	int code = s->table.failed ? s->table.failed : section_add_row(&s->table, &row);
	if (code >= 0 && s->table.nrows > 2 * s->united + AT_ONCE) {
		code = site_table_unite(&s->table);
		s->united = s->table.nrows;
	}
	return code;
}

/* Of a record that was only looked at there is no site. */
static bool was_opened(const struct schema_module *m, const struct log_record *r)
{
	return !strcmp(m->interface->level, "library") || reduce_i64(m, r->data, ROLE_OPENS) != 0;
}

/* Parts of one log all have its rows, with the ranks of all parts. */
static bool is_new_row(struct merging *g, const struct merge_part *p, uint64_t row)
{
	const uint64_t key[] = {p->run, p->source, p->source ? 0 : p->given, row};
	bool is_new = false;
	if (text_number(&g->sites->several, key, sizeof key, &is_new) == SIZE_MAX)
		g->sites->table.failed = LOG_E_MEMORY;
	return is_new;
}

static int add_several(struct merging *g, const struct merge_part *p, const char *interface, uint64_t id, uint64_t file)
{
	struct site site;
	int code = 0;
	for (size_t n = 0; code >= 0 && sites_of(g->sites->of_part, interface, id, n, &site); n++)
		if (is_new_row(g, p, site.row))
			code = add_row(g->sites, interface, &site, file, site.ranks);
	return code;
}

int merge_sites_add(struct merging *g, const struct merge_part *p, int module, const struct log_record *r, uint64_t id)
{
	const struct schema_module *m = &schema_modules[module];
	struct site site = {.module = "", .build_id = "", .stack = ""}, second;
	int64_t ranks = r->rank == -1 ? g->runs[p->run].nprocs : 1;
	if (!g->sites || written_slot(module) < 0 || !m->interface)
		return 0;
	bool known = sites_of(g->sites->of_part, m->key, id, 0, &site);
	if (known && sites_of(g->sites->of_part, m->key, id, 1, &second))
		return add_several(g, p, m->key, id, r->id);
	if (known && site.ranks && r->rank == -1)
		ranks = site.ranks;
	return was_opened(m, r) ? add_row(g->sites, m->key, &site, r->id, ranks) : 0;
}

int merge_sites_write(struct merging *g)
{
	int code = g->sites ? site_table_end(&g->sites->table) : 0;
	return code >= 0 && g->sites && g->sites->table.nrows ? log_write_section(g->writer, &g->sites->table) : code;
}
