/* Where files were opened: from the stores' sites to the table of that name. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "assembly.h"
#include "reader.h"
#include "site_table.h"

enum { CODES = 256, AT_ONCE = 4096 };

struct code {
	struct site_text module, build_id;
};

struct sites {
	const struct store_reader *i;
	struct trailer_section *table;
	struct code code[1 + CODES]; /* the first is the unknown one */
	size_t ncodes;
	struct site_text interface[WRITTEN_COUNT];
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

static struct site_text add_text(struct sites *s, const char *text)
{
	return site_text(s->table, text, strlen(text));
}

static int add_row(struct sites *s, uint64_t file, uint64_t at)
{
	uint64_t number = SITE_CODE(at) <= s->ncodes ? SITE_CODE(at) : 0;
	struct site_text *interface = &s->interface[SITE_SLOT(at)];
	if (!interface->length)
		*interface = add_text(s, written_modules[SITE_SLOT(at)].key);
	return section_add_row(s->table, &(struct site_row){.interface = *interface,
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

int assembly_add_sites(struct assembly *a, struct store_reader *i)
{
	_Static_assert(sizeof(struct site_row) == 48, "the section's row");
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
	return code < 0 ? code : assembly_unite_sites(a, AT_ONCE);
}

int assembly_unite_sites(struct assembly *a, uint64_t added)
{
	if (table(a)->nrows <= 2 * a->united_sites + added)
		return 0;
	int code = site_table_unite(table(a));
	a->united_sites = table(a)->nrows;
	return code;
}

int assembly_end_sites(struct assembly *a)
{
	return site_table_end(table(a));
}
