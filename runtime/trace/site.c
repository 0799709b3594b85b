#include "site.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "arena.h"
#include "config.h"
#include "hash.h"
#include "names.h"
#include "python_lines.h"
#include "resolve.h"
#include "sampling.h"
#include "store.h"
#include "unwind.h"

enum { CODES = 128, PATH = 1024, FUNCTIONS = 1024, STACKS = 2048, DEEPEST = 40 };

/* The program or a library where it is now. */
struct code {
	uintptr_t from, to;
	uintptr_t base; /* what is added to the addresses of its file */
	const char *path;
	const struct link_map *map; /* NULL = unknown */
};

/* What is in the store already, by its hash. */
struct seen {
	uint64_t hash;
	uint32_t number; /* from 1 on; 0 = free */
};

/* Under its lock. */
static struct {
	struct lock lock;
	uint64_t used;
	uint32_t functions, stacks; /* of Python */
	bool refused;               /* the store says so */
	bool layered;               /* there is Python, or a library that opens files for its callers */
	struct {
		uintptr_t from, to, base;
		uint64_t path; /* its hash */
	} code[CODES];
	struct seen *function, *stack; /* FUNCTIONS and STACKS of them; NULL = there was no Python yet, or no memory */
} known;

/* Under that lock, too: a page of stack may be all there is. */
static union {
	struct state_code head;
	char room[sizeof(struct state_code) + SITE_ID + PATH + 16];
} entry;

/* ---- whose code is it? ---- */

/* glibc's from 2.35 on: takes no lock, so that signal handlers and forked children may ask, too. */
struct found {
	unsigned long long flags;
	void *from, *to;
	struct link_map *map;
	void *rest[12];
};

typedef int find_function(void *address, struct found *out);
static void *real_find; /* atomic, resolved once */

/* NULL: this libc has none. Looked for once. */
static find_function *finder(void)
{
	static bool asked;
	if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
		wrap_resolve("_dl_find_object", &real_find);
		__atomic_store_n(&asked, true, __ATOMIC_RELEASE);
	}
	return (find_function *)__atomic_load_n(&real_find, __ATOMIC_RELAXED);
}

struct search {
	uintptr_t at;
	struct code *out;
};

static int is_it(struct dl_phdr_info *info, size_t size, void *search)
{
	const struct search *s = search;
	uintptr_t from = UINTPTR_MAX, to = 0;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		from = begin < from ? begin : from;
		to = begin + p->p_memsz > to ? begin + p->p_memsz : to;
	}
	if (s->at < from || s->at >= to)
		return 0;
	*s->out = (struct code){.from = from & ~(uintptr_t)(SITE_PAGE - 1),
				.to = to,
				.base = info->dlpi_addr,
				.path = info->dlpi_name,
				.map = resolve_map_of(info)};
	return 1;
}

static bool find_code(uintptr_t at, struct code *out)
{
	struct found f;
	find_function *ask = finder();
	if (!ask)
		return !resolve_torn() && dl_iterate_phdr(is_it, &(struct search){at, out}) == 1;
	if (ask((void *)at, &f) != 0 || !f.map)
		return false;
	*out = (struct code){(uintptr_t)f.from, (uintptr_t)f.to, f.map->l_addr, f.map->l_name, f.map};
	return true;
}

/* ---- what its file is ---- */

static bool lies_in(const struct code *c, uintptr_t at, size_t n)
{
	return at >= c->from && at <= c->to && n <= c->to - at;
}

static size_t find_id(uintptr_t at, size_t n, const uint8_t **id)
{
	const ElfW(Nhdr) * note;
	while (n >= sizeof *note) {
		note = (const ElfW(Nhdr) *)at;
		size_t name = (note->n_namesz + 3u) & ~3u, size = ((size_t)note->n_descsz + 3) & ~(size_t)3;
		if (name > n - sizeof *note || size > n - sizeof *note - name)
			return 0;
		*id = (const uint8_t *)(note + 1) + name;
		if (note->n_type == NT_GNU_BUILD_ID && name == 4 && memcmp(note + 1, "GNU", 4) == 0)
			return note->n_descsz <= SITE_ID ? note->n_descsz : 0;
		at += sizeof *note + name + size;
		n -= sizeof *note + name + size;
	}
	return 0;
}

/* The linker has read the same headers, in the page that its mapping begins with. Their number; 0: they are not there. */
static int headers(const struct code *c, const ElfW(Phdr) * *p)
{
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)c->from;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phoff + head->e_phnum * sizeof(ElfW(Phdr)) > SITE_PAGE)
		return 0;
	*p = (const ElfW(Phdr) *)(c->from + head->e_phoff);
	return head->e_phnum;
}

static size_t build_id(const struct code *c, const uint8_t **id)
{
	const ElfW(Phdr) *p = NULL;
	for (int left = headers(c, &p); left > 0; left--, p++) {
		uintptr_t at = c->base + p->p_vaddr;
		size_t n = p->p_type == PT_NOTE && lies_in(c, at, p->p_memsz) ? find_id(at, p->p_memsz, id) : 0;
		if (n)
			return n;
	}
	return 0;
}

static struct unwind_code unwind_code(const struct code *c)
{
	struct unwind_code code = {.from = c->from, .to = c->to};
	const ElfW(Phdr) *p = NULL;
	for (int left = headers(c, &p); left > 0; left--, p++)
		if (p->p_type == PT_GNU_EH_FRAME && lies_in(c, c->base + p->p_vaddr, p->p_memsz))
			code.table = c->base + p->p_vaddr;
	return code;
}

/*
 * Libraries that open files for their callers: languages' own I/O, and interfaces without records of their own, as the bindings of MPI
 * and HDF5 for other languages. By the begin of their names and a part of the rest.
 */
static const struct {
	const char *begin, *part;
} bindings[] = {
	{"libgfortran", ""},  {"libifcore", ""},     {"libflang", ""},  {"libFortranRuntime", ""},
	{"libnvf.", ""},      {"libstdc++", ""},     {"libc++", ""},    {"libmpi", "fort"},
	{"libmpi", "_mpifh"}, {"libmpi", "_usempi"}, {"libmpi", "cxx"}, {"libhdf5", "fortran"},
	{"libhdf5", "_cpp"},  {"libhdf5", "_hl"},    {"libnetcdf", ""}, {"libpnetcdf", ""},
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_binding(const char *path)
{
	const char *name = file_name(path);
	for (size_t n = 0; n < sizeof bindings / sizeof *bindings; n++) {
		size_t length = strlen(bindings[n].begin);
		if (strncmp(name, bindings[n].begin, length) == 0 && strstr(name + length, bindings[n].part))
			return true;
	}
	return false;
}

/* Holds the lock. Inlined, it costs each open two instructions. */
__attribute__((noinline)) static bool add_code(const struct code *c)
{
	const uint8_t *id = NULL;
	size_t n = build_id(c, &id), path = strnlen(c->path, PATH);
	size_t used = sizeof entry.head + n + path + 1;
	memset(&entry, 0, sizeof entry);
	entry.head.id = (uint32_t)n;
	entry.head.size = (uint32_t)((used + 15) & ~(size_t)15);
	if (n)
		memcpy(entry.room + sizeof entry.head, id, n);
	if (path < PATH) /* else unknown */
		memcpy(entry.room + sizeof entry.head + n, c->path, path);
	python_meet(c->map);
	known.layered |= python_met || is_binding(c->path);
	return path < PATH && store_site(&entry, entry.head.size);
}

/* From 1 on; 0: there is no room. Another library may be where one was that is unloaded. */
static uint64_t number_of(const struct code *c)
{
	uint64_t path = log_hash(c->path, strnlen(c->path, PATH), 0);
	for (uint64_t n = known.used; n > 0; n--)
		if (known.code[n - 1].from == c->from && known.code[n - 1].base == c->base &&
		    known.code[n - 1].to == c->to && known.code[n - 1].path == path)
			return n;
	if (known.used == CODES || !add_code(c))
		return 0;
	known.code[known.used].from = c->from;
	known.code[known.used].to = c->to;
	known.code[known.used].base = c->base;
	known.code[known.used].path = path;
	return ++known.used;
}

/* ---- Python ---- */

/* Where it is, or a free place to be; NULL: there is none. */
static struct seen *find_seen(struct seen *seen, size_t size, uint64_t hash)
{
	for (size_t n = 0, at = hash % size; seen && n < size; n++, at = (at + 1) % size)
		if (!seen[at].number || seen[at].hash == hash)
			return &seen[at];
	return NULL;
}

/*
 * 0: it has no room. The entry says its number, which no other gets: a thread may jump away when it is in the store, and nothing
 * here says so.
 */
static uint32_t number_of_entry(struct seen *seen, uint64_t hash, uint32_t *used, struct state_code *head)
{
	if (!seen || seen->number)
		return seen ? seen->number : 0;
	if (*used == SITE_STACKED - 1)
		return 0;
	uint32_t number = ++*used;
	head->id |= number;
	if (!store_site(head, head->size))
		return 0;
	seen->hash = hash;
	seen->number = number;
	return number;
}

static uint32_t number_of_function(struct python_stack *s, size_t frame)
{
	enum { HEAD = sizeof(struct state_code) };
	memset(&entry, 0, sizeof entry);
	size_t n = python_code(s, frame, entry.room + HEAD, sizeof entry - HEAD - 16);
	uint64_t hash = log_hash(entry.room, HEAD + n, 0);
	entry.head.id = SITE_FUNCTION;
	entry.head.size = (uint32_t)((HEAD + n + 15) & ~(size_t)15);
	return n ? number_of_entry(find_seen(known.function, FUNCTIONS, hash), hash, &known.functions, &entry.head) : 0;
}

/* Frames behind one that has no room are left out. */
static uint32_t number_of_stack(struct python_stack *s, uint64_t code)
{
	struct state_stack stack = {.head = {.size = sizeof stack, .id = SITE_STACK}, .code = code};
	for (uint32_t function; stack.n < s->n && (function = number_of_function(s, stack.n)) > 0; stack.n++)
		stack.line[stack.n] = (struct state_line){function, s->frame[stack.n].line};
	uint64_t hash = log_hash(&stack, sizeof stack, 0);
	return stack.n ? number_of_entry(find_seen(known.stack, STACKS, hash), hash, &known.stacks, &stack.head) : 0;
}

static void add_refused(void)
{
	struct state_python p = {.head = {.size = sizeof p, .id = SITE_PYTHON}, .version = python_refused()};
	if (p.version && !known.refused)
		known.refused = store_site(&p, sizeof p);
}

/* 0: the thread is in no Python code. */
__attribute__((noinline)) static uint64_t python_number(uint64_t code)
{
	struct python_stack s;
	if (!known.function)
		known.function = arena_take(FUNCTIONS * sizeof *known.function);
	if (!known.stack)
		known.stack = arena_take(STACKS * sizeof *known.stack);
	uint32_t number = python_stack(&s) ? number_of_stack(&s, code) : 0;
	add_refused();
	self.lined = sampling_lined = !python_refused();
	return number ? SITE_STACKED | number : 0;
}

/* ---- bindings ---- */

/* It calls what threads begin with, and returns from signal handlers. */
static bool is_libc(const char *path)
{
	const char *name = file_name(path);
	return strncmp(name, "libc.", 5) == 0 || strncmp(name, "libpthread.", 11) == 0 || strncmp(name, "ld-", 3) == 0;
}

/*
 * From us to the caller, which must be on the way, and on to the first that is neither a binding's nor ours: a wrapper's. 0: it was
 * not found, or a binding's own thread opens the file.
 */
__attribute__((noinline)) static uintptr_t find_user(uintptr_t caller, struct code *user)
{
	static struct code own; /* under the lock, too */
	struct unwind_frame f;
	bool met = false;
	if (!own.to && !find_code((uintptr_t)find_user, &own))
		return 0;
	struct code c = own;
	struct unwind_code code = unwind_code(&c);
	code.stays = true;
	unwind_begin();
	unwind_here(&f);
	for (int n = 0; n < DEEPEST && unwind_step(&f, &code); n++) {
		met |= f.at == caller;
		if (lies_in(&c, f.at, 1))
			continue;
		if (!met || !find_code(f.at, &c))
			return 0;
		if (c.from != own.from && !is_binding(c.path)) {
			*user = c;
			return is_libc(c.path) ? 0 : f.at;
		}
		code = unwind_code(&c);
	}
	return 0;
}

/* Where the function of the user's is that had a binding open the file: 0 = it is not known. */
static uint64_t user_site(uintptr_t caller, enum written slot)
{
	struct code c;
	uintptr_t at = find_user(caller, &c);
	uint64_t code = at && at - c.base <= SITE_MOST_OFFSET ? number_of(&c) : 0;
	return code ? SITE_AT(slot, code, at - c.base) : 0;
}

/* ---- records ---- */

/* c: the caller's, numbered `code`; 0 = it is not known. */
__attribute__((noinline)) static uint64_t layered_site(uintptr_t caller, enum written slot, const struct code *c,
						       uint64_t code)
{
	uint64_t python = python_met ? python_number(code) : 0;
	if (python)
		return SITE_AT(slot, python, code ? caller - c->base : 0);
	return code && is_binding(c->path) ? user_site(caller, slot) : 0;
}

/* Holds the lock. */
static uint64_t site_of(uintptr_t caller, enum written slot)
{
	struct code c;
	bool found = find_code(caller, &c) && caller - c.base <= SITE_MOST_OFFSET;
	uint64_t code = found ? number_of(&c) : 0, layered = known.layered ? layered_site(caller, slot, &c, code) : 0;
	if (layered)
		return layered;
	return code ? SITE_AT(slot, code, caller - c.base) : SITE_UNKNOWN(slot);
}

void site_keep(struct file *f, enum written slot)
{
	struct state_site site = {f->name->id, SITE_UNKNOWN(slot)};
	uintptr_t caller = names_is_overflow(f->name) ? 0 : self.caller;
	if (!config.sites || (f->site && !caller) || !lock_take_deep(&known.lock))
		return;
	if (caller)
		site.at = site_of(caller, slot);
	if (f->site)
		__atomic_store_n(&f->site->at, site.at, __ATOMIC_RELAXED);
	else
		f->site = store_site(&site, sizeof site);
	lock_drop_deep(&known.lock);
}

uint64_t site_stack(void)
{
	if (!lock_take_deep(&known.lock))
		return 0;
	uint64_t number = python_number(0);
	lock_drop_deep(&known.lock);
	return number;
}

void site_reset(void)
{
	known.used = 0;
	known.refused = false;
	if (known.functions)
		memset(known.function, 0, FUNCTIONS * sizeof *known.function);
	if (known.stacks)
		memset(known.stack, 0, STACKS * sizeof *known.stack);
	known.functions = known.stacks = 0;
}
