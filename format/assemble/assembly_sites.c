/* From the stores' sites: where files were opened, and the calls by line of Python code. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "assembly.h"
#include "index.h"
#include "reader.h"
#include "site_table.h"
#include "sites.h"

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
	struct state_stack entry;
};

/* As the section `lines` has it. */
struct line_row {
	int64_t rank;
	struct site_text interface, kind, stack;
	uint64_t file;
	int64_t calls, bytes;
	double time; /* s */
};

struct sites {
	const struct store_reader *i;
	struct trailer_section *table;
	bool of_lines;               /* the table is that of the calls */
	struct code code[1 + CODES]; /* the first is the unknown one */
	size_t ncodes, nfunctions, nstacks;
	struct function *functions;
	struct stack *stacks;
	struct site_text interface[WRITTEN_COUNT], kind[IO_OPS];
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

static struct site_text interface_of(struct sites *s, uint64_t slot)
{
	struct site_text *interface = &s->interface[slot];
	if (!interface->length)
		*interface = add_text(s, written_modules[slot].key);
	return *interface;
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
	number = number <= s->ncodes ? number : 0;
	return section_add_row(s->table, &(struct site_row){.interface = interface_of(s, SITE_SLOT(at)),
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

static int write_stack(struct sites *s, struct stack *stack)
{
	const struct state_stack *k = &stack->entry;
	int code = s->table->heap.used > UINT32_MAX / 2 ? LOG_E_MEMORY : 0;
	stack->text.at = (uint32_t)s->table->heap.used;
	for (size_t n = 0; code >= 0 && n < k->n && n < SITE_FRAMES; n++)
		code = add_line(s, &k->line[n], n == 0);
	stack->text.length = (uint32_t)(s->table->heap.used - stack->text.at);
	return code;
}

static int add_stack(struct sites *s, uint32_t number, const struct state_stack *k)
{
	struct stack stack = {.code = k->code & SITE_STACKED ? 0 : k->code, .entry = *k};
	int code = s->of_lines ? 0 : write_stack(s, &stack); /* not all have calls of their own */
	while (code >= 0 && s->nstacks < number) {
		code = index_grow(&s->stacks, s->nstacks, sizeof *s->stacks) ? 0 : LOG_E_MEMORY;
		if (code >= 0)
			s->stacks[s->nstacks++] = (struct stack){.code = 0};
	}
	if (code >= 0 && number)
		s->stacks[number - 1] = stack;
	return code;
}

static int add_sum(struct sites *s, const struct state_line_sum *sum)
{
	static const char *const kinds[] = {[IO_READ] = "read", [IO_WRITE] = "write", [IO_META] = "meta"};
	uint64_t op = SITE_OFFSET(sum->at), number = SITE_CODE(sum->at) ^ SITE_STACKED;
	if (SITE_SLOT(sum->at) >= WRITTEN_COUNT || op >= IO_OPS || !number || number > s->nstacks)
		return LOG_E_DAMAGED;
	struct stack *stack = &s->stacks[number - 1];
	int code = stack->text.length ? 0 : write_stack(s, stack);
	if (!s->kind[op].length)
		s->kind[op] = add_text(s, kinds[op]);
	return code < 0 ? code
			: section_add_row(s->table, &(struct line_row){.rank = s->i->rank,
								       .interface = interface_of(s, SITE_SLOT(sum->at)),
								       .kind = s->kind[op],
								       .stack = stack->text,
								       .file = SITES_FILE(sum->file),
								       .calls = sum->calls,
								       .bytes = sum->bytes,
								       .time = (double)sum->time * 1e-9});
}

/* What an entry holds that is no site; LOG_E_DAMAGED: it cannot be. */
static int read_entry(struct sites *s, const uint8_t *at, size_t left, size_t *size)
{
	struct state_code head;
	struct state_stack stack;
	struct state_line_sum sum;
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
	if (SITE_KIND(head.id) == SITE_SUM && head.size == sizeof sum) {
		memcpy(&sum, at, sizeof sum);
		return s->of_lines ? add_sum(s, &sum) : 0;
	}
	if (end[-1])
		return LOG_E_DAMAGED;
	if (SITE_KIND(head.id) == SITE_FUNCTION)
		return add_function(s, SITE_NUMBER(head.id), text, end);
	if (head.id > SITE_ID || head.size <= sizeof head + head.id)
		return LOG_E_DAMAGED;
	if (s->ncodes < CODES && !s->of_lines)
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
		else if (SITE_SLOT(site.at) < WRITTEN_COUNT && !s->of_lines)
			code = add_row(s, site.file, site.at);
	}
	return code;
}

/* The table gets what the store's sites say. */
static int read_sites(struct trailer_section *table, const struct store_reader *i, bool of_lines)
{
	struct sites *s = log_alloc(sizeof *s);
	if (!s)
		return LOG_E_MEMORY;
	*s = (struct sites){.i = i, .table = table, .of_lines = of_lines};
	int code = i->sites ? add_all(s) : 0;
	if (code == LOG_E_DAMAGED)
		code = of_lines ? 0 : add_unknown(s);
	if (code >= 0 && !of_lines && (!i->sites || i->state->sites_lost))
		code = add_unknown(s);
	log_free(s->functions);
	log_free(s->stacks);
	log_free(s);
	return code;
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
	_Static_assert(sizeof(struct site_row) == 56 && sizeof(struct line_row) == 64, "the sections' rows");
	if (i->rank < 0)
		return 0;
	int code = read_sites(table(a), i, false);
	if (code >= 0 && i->sites)
		code = read_sites(&a->section[ASSEMBLY_LINES], i, true);
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
