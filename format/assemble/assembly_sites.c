/* Where files were opened: from the stores' sites to the table of that name. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "assembly.h"
#include "index.h"
#include "reader.h"
#include "site_table.h"

enum { CODES = 256, AT_ONCE = 4096 };

struct code {
	struct site_text module, build_id;
};

/* Of Python. */
struct function {
	const char *path, *name; /* in the store */
};

struct stack {
	struct site_text text;
	uint64_t code; /* that made the call; 0 = unknown */
};

struct sites {
	const struct store_reader *i;
	struct trailer_section *table;
	struct code code[1 + CODES]; /* the first is the unknown one */
	size_t ncodes, nfunctions, nstacks;
	struct function *functions;
	struct stack *stacks;
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

/* Of a Python function: Python until 3.8 has the script's path as it was given. */
static void source_of(const struct sites *s, const char *path, char *out, size_t room)
{
	const struct state_process *p = &s->i->state->process;
	bool relative = path[0] && path[0] != '/' && path[0] != '<' && p->directory[0];
	snprintf(out, room, "%.*s%s%s", relative ? (int)sizeof p->directory : 0, p->directory, relative ? "/" : "",
		 path);
}

static struct site_text add_text(struct sites *s, const char *text)
{
	return site_text(s->table, text, strlen(text));
}

static const struct stack *stack_of(const struct sites *s, uint64_t at)
{
	static const struct stack none;
	uint64_t number = SITE_CODE(at) & SITE_STACKED ? SITE_CODE(at) ^ SITE_STACKED : 0;
	return number && number <= s->nstacks ? &s->stacks[number - 1] : &none;
}

static int add_row(struct sites *s, uint64_t file, uint64_t at)
{
	const struct stack *stack = stack_of(s, at);
	uint64_t number = stack->code ? stack->code : SITE_CODE(at);
	struct site_text *interface = &s->interface[SITE_SLOT(at)];
	number = number <= s->ncodes ? number : 0;
	if (!interface->length)
		*interface = add_text(s, written_modules[SITE_SLOT(at)].key);
	return section_add_row(s->table, &(struct site_row){.interface = *interface,
							    .module = s->code[number].module,
							    .build_id = s->code[number].build_id,
							    .stack = stack->text,
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

static int add_function(struct sites *s, uint32_t number, const char *path, const char *end)
{
	const char *name = path + strlen(path) + 1;
	while (s->nfunctions < number) {
		if (!index_grow(&s->functions, s->nfunctions, sizeof *s->functions))
			return LOG_E_MEMORY;
		s->functions[s->nfunctions++] = (struct function){"", ""};
	}
	if (number)
		s->functions[number - 1] = (struct function){path, name < end ? name : ""};
	return 0;
}

/* `function (path:line)`. */
static int add_line(struct sites *s, const struct state_line *l, bool first)
{
	char path[4096], text[8192];
	if (!l->function || l->function > s->nfunctions)
		return LOG_E_DAMAGED;
	const struct function *f = &s->functions[l->function - 1];
	source_of(s, f->path, path, sizeof path);
	int n = snprintf(text, sizeof text, "%s%s (%s:%u)", first ? "" : "\n", f->name, path, l->line);
	return log_bytes_add(&s->table->heap, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static int add_stack(struct sites *s, uint32_t number, const struct state_stack *k)
{
	struct stack stack = {{(uint32_t)s->table->heap.used, 0}, k->code & SITE_STACKED ? 0 : k->code};
	int code = s->table->heap.used > UINT32_MAX / 2 ? LOG_E_MEMORY : 0;
	for (size_t n = 0; code >= 0 && n < k->n && n < SITE_FRAMES; n++)
		code = add_line(s, &k->line[n], n == 0);
	stack.text.length = (uint32_t)(s->table->heap.used - stack.text.at);
	while (code >= 0 && s->nstacks < number) {
		code = index_grow(&s->stacks, s->nstacks, sizeof *s->stacks) ? 0 : LOG_E_MEMORY;
		if (code >= 0)
			s->stacks[s->nstacks++] = (struct stack){.code = 0};
	}
	if (code >= 0 && number)
		s->stacks[number - 1] = stack;
	return code;
}

/* What an entry holds that is no site; LOG_E_DAMAGED: it cannot be. */
static int read_entry(struct sites *s, const uint8_t *at, size_t left, size_t *size)
{
	struct state_code head;
	struct state_stack stack;
	if (left < sizeof head)
		return LOG_E_DAMAGED;
	memcpy(&head, at, sizeof head);
	*size = head.size;
	if (head.size > left || head.size % sizeof(struct state_site) || head.size <= sizeof head)
		return LOG_E_DAMAGED;
	const char *text = (const char *)at + sizeof head, *end = (const char *)at + head.size;
	if (head.id == SITE_PYTHON)
		return 0;
	if (SITE_KIND(head.id) == SITE_STACK && head.size == sizeof stack) {
		memcpy(&stack, at, sizeof stack);
		return add_stack(s, SITE_NUMBER(head.id), &stack);
	}
	if (end[-1])
		return LOG_E_DAMAGED;
	if (SITE_KIND(head.id) == SITE_FUNCTION)
		return add_function(s, SITE_NUMBER(head.id), text, end);
	if (head.id > SITE_ID || head.size <= sizeof head + head.id)
		return LOG_E_DAMAGED;
	if (s->ncodes < CODES)
		add_code(s, at + sizeof head, head.id, text + head.id);
	return 0;
}

static int add_all(struct sites *s)
{
	struct state_site site;
	int code = 0;
	for (size_t at = SITE_HEAD, n; code >= 0 && at + sizeof site <= s->i->sites_size; at += n) {
		memcpy(&site, s->i->sites + at, sizeof site);
		n = sizeof site;
		if (!site.file)
			code = read_entry(s, s->i->sites + at, s->i->sites_size - at, &n);
		else if (SITE_SLOT(site.at) < WRITTEN_COUNT)
			code = add_row(s, site.file, site.at);
	}
	return code == LOG_E_DAMAGED ? add_unknown(s) : code;
}

uint32_t assembly_python_refused(const struct store_reader *i)
{
	struct state_python p;
	for (size_t at = SITE_HEAD; i->sites && at + sizeof p <= i->sites_size;) {
		memcpy(&p, i->sites + at, sizeof p);
		if (!p.head.none && p.head.id == SITE_PYTHON)
			return (uint32_t)p.version;
		at += p.head.none ? sizeof(struct state_site) : p.head.size ? p.head.size : i->sites_size;
	}
	return 0;
}

int assembly_add_sites(struct assembly *a, struct store_reader *i)
{
	_Static_assert(sizeof(struct site_row) == 56, "the section's row");
	if (i->rank < 0)
		return 0;
	struct sites *s = log_alloc(sizeof *s);
	if (!s)
		return LOG_E_MEMORY;
	*s = (struct sites){.i = i, .table = table(a)};
	int code = i->sites ? add_all(s) : 0;
	if (code >= 0 && (!i->sites || i->state->sites_lost))
		code = add_unknown(s);
	log_free(s->functions);
	log_free(s->stacks);
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
