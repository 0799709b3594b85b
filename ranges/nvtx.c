/*
 * NVTX, by its own way of adding a tool: what a program includes of it, and libnvToolsExt of older CUDA, opens the library that
 * NVTX_INJECTION64_PATH names, and fills in its functions for those of the API. What is not filled in stays without effect.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "phase.h"

enum { UNTRACKED = -2 }; /* what a push and a pop return where no tool counts levels */

/* ---- domains: a library's own ranges ---- */

struct domain {
	char prefix[RANGE_NAME]; /* "name:"; of a program's own domain nothing */
	bool seen;
};

enum { DOMAINS = 64, STRINGS = 512 };

static struct domain own = {"", true}, others = {"", false}, domains[DOMAINS];
static size_t domains_used;

static bool has_word(const char *list, const char *word)
{
	for (size_t n; list && *list; list += n + (list[n] != 0)) {
		n = strcspn(list, ",");
		if (n == strlen(word) && strncmp(list, word, n) == 0)
			return true;
	}
	return false;
}

/* NVTX's package for Python has a domain of its own for what is the program's. */
static bool is_asked_for(const char *name)
{
	const char *asked = getenv("IOLENS_RANGES");
	return strcmp(name, "NVTX") == 0 || has_word(asked, name) || has_word(asked, "all");
}

static void *create(const char *name)
{
	size_t n = __atomic_fetch_add(&domains_used, 1, __ATOMIC_RELAXED);
	if (n >= DOMAINS)
		return &others;
	struct domain *d = &domains[n];
	size_t length = strnlen(name, RANGE_NAME / 2 - 2);
	d->seen = is_asked_for(name);
	if (strcmp(name, "NVTX") != 0) {
		memcpy(d->prefix, name, length);
		d->prefix[length] = ':';
	}
	return d;
}

static void *create_narrow(const char *name)
{
	return create(name ? name : "");
}

static void *create_wide(const wchar_t *name)
{
	char narrow[RANGE_NAME];
	range_name_wide(narrow, "", name);
	return create(narrow);
}

static const struct domain *domain_of(const void *handle)
{
	return handle ? handle : &own;
}

/* ---- strings that are registered once ---- */

struct string {
	char name[RANGE_NAME];
	bool whole;
};

static struct string strings[STRINGS], too_many = {"<other phases>", true};
static size_t strings_used;

static void *keep(const char *name)
{
	size_t used = __atomic_load_n(&strings_used, __ATOMIC_ACQUIRE);
	for (size_t n = 0; n < used && n < STRINGS; n++)
		if (__atomic_load_n(&strings[n].whole, __ATOMIC_ACQUIRE) && strcmp(strings[n].name, name) == 0)
			return &strings[n];
	if (used >= STRINGS || (used = __atomic_fetch_add(&strings_used, 1, __ATOMIC_ACQ_REL)) >= STRINGS)
		return &too_many;
	strcpy(strings[used].name, name);
	__atomic_store_n(&strings[used].whole, true, __ATOMIC_RELEASE);
	return &strings[used];
}

static void *register_narrow(const void *domain, const char *text)
{
	char name[RANGE_NAME];
	if (!domain_of(domain)->seen)
		return &too_many;
	range_name(name, domain_of(domain)->prefix, text);
	return keep(name);
}

static void *register_wide(const void *domain, const wchar_t *text)
{
	char name[RANGE_NAME];
	if (!domain_of(domain)->seen)
		return &too_many;
	range_name_wide(name, domain_of(domain)->prefix, text);
	return keep(name);
}

/* ---- ranges ---- */

/* As NVTX lays it out. */
struct event {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

_Static_assert(sizeof(struct event) == 48 && offsetof(struct event, message) == 40, "the layout of NVTX");

enum { MESSAGE_NARROW = 1, MESSAGE_WIDE, MESSAGE_REGISTERED };

static const char *name_of(char name[RANGE_NAME], const struct domain *d, const struct event *e)
{
	int type = e && e->size >= sizeof *e && e->message ? e->message_type : 0;
	if (type == MESSAGE_REGISTERED)
		return ((const struct string *)e->message)->name;
	if (type == MESSAGE_WIDE)
		range_name_wide(name, d->prefix, e->message);
	else
		range_name(name, d->prefix, type == MESSAGE_NARROW ? e->message : "");
	return name;
}

static uint64_t begin_event(const struct domain *d, const struct event *e, const void *of)
{
	char name[RANGE_NAME];
	return d->seen ? iolens_runtime_range_begin(name_of(name, d, e), of) : 0;
}

static int domain_push(const void *domain, const struct event *e)
{
	begin_event(domain_of(domain), e, domain_of(domain));
	return UNTRACKED;
}

static int domain_pop(const void *domain)
{
	if (domain_of(domain)->seen)
		iolens_runtime_range_end_last(domain_of(domain));
	return UNTRACKED;
}

static uint64_t domain_start(const void *domain, const struct event *e)
{
	return begin_event(domain_of(domain), e, NULL);
}

static void domain_end(const void *domain, uint64_t id)
{
	(void)domain;
	iolens_runtime_range_end(id);
}

static void end(uint64_t id)
{
	iolens_runtime_range_end(id);
}

#define EVENT(type, text) (&(struct event){.size = sizeof(struct event), .message_type = type, .message = text})

static int push_event(const struct event *e)
{
	return domain_push(NULL, e);
}

static int push_narrow(const char *text)
{
	return domain_push(NULL, EVENT(MESSAGE_NARROW, text));
}

static int push_wide(const wchar_t *text)
{
	return domain_push(NULL, EVENT(MESSAGE_WIDE, text));
}

static int pop(void)
{
	return domain_pop(NULL);
}

static uint64_t start_event(const struct event *e)
{
	return domain_start(NULL, e);
}

static uint64_t start_narrow(const char *text)
{
	return domain_start(NULL, EVENT(MESSAGE_NARROW, text));
}

static uint64_t start_wide(const wchar_t *text)
{
	return domain_start(NULL, EVENT(MESSAGE_WIDE, text));
}

/* ---- how NVTX gets them ---- */

typedef void (*function)(void);

enum { CALLBACKS = 1, CORE = 1, DOMAIN = 5 };

struct callbacks {
	size_t size;
	int (*table)(int module, function ***out, unsigned *entries);
};

static const struct {
	int module;
	unsigned entry;
	function ours;
} functions[] = {
	{CORE, 4, (function)start_event},        {CORE, 5, (function)start_narrow},
	{CORE, 6, (function)start_wide},         {CORE, 7, (function)end},
	{CORE, 8, (function)push_event},         {CORE, 9, (function)push_narrow},
	{CORE, 10, (function)push_wide},         {CORE, 11, (function)pop},
	{DOMAIN, 2, (function)domain_start},     {DOMAIN, 3, (function)domain_end},
	{DOMAIN, 4, (function)domain_push},      {DOMAIN, 5, (function)domain_pop},
	{DOMAIN, 10, (function)register_narrow}, {DOMAIN, 11, (function)register_wide},
	{DOMAIN, 12, (function)create_narrow},   {DOMAIN, 13, (function)create_wide},
};

RANGES_VISIBLE int InitializeInjectionNvtx2(const void *(*exported)(uint32_t table));

/* 0: there is no tool, and the API does nothing. */
int InitializeInjectionNvtx2(const void *(*exported)(uint32_t table))
{
	const struct callbacks *c = RANGES_SEEN && exported ? exported(CALLBACKS) : NULL;
	if (!c || c->size < sizeof *c || !c->table)
		return 0;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		function **table = NULL;
		unsigned entries = 0;
		unsigned at = functions[i].entry;
		if (c->table(functions[i].module, &table, &entries) && table && at < entries && table[at])
			*table[at] = functions[i].ours;
	}
	return 1;
}
