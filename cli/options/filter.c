#include "filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* By Darshan's name or by ours. */
static uint64_t module_bit(const char *name, size_t n)
{
	for (int m = 0; m < LOG_MOD_COUNT; m++) {
		const char *const names[] = {schema_modules[m].name, schema_modules[m].key};
		for (int k = 0; k < 2; k++)
			if (names[k] && strlen(names[k]) == n && !strncasecmp(names[k], name, n))
				return UINT64_C(1) << m;
	}
	return 0;
}

const char *filter_module_name(const void *unused, size_t i)
{
	for (int m = 1; m < LOG_MOD_COUNT; m++)
		if (schema_modules[m].key && !i--)
			return schema_modules[m].key;
	return NULL;
}

static struct filter *filter_at(void *target, const struct choice *c)
{
	return (struct filter *)((char *)target + c->at);
}

bool filter_choose_modules(void *target, const struct choice *c, char *text)
{
	struct filter *f = filter_at(target, c);
	do {
		size_t n = strcspn(text, ",");
		uint64_t bit = module_bit(text, n);
		if (!bit)
			return false;
		f->modules |= bit;
		text += n + (text[n] == ',');
	} while (*text);
	return true;
}

bool filter_choose_glob(void *target, const struct choice *c, char *text)
{
	filter_at(target, c)->glob = text;
	return true;
}

bool filter_choose_regex(void *target, const struct choice *c, char *text)
{
	struct filter *f = filter_at(target, c);
	if (f->has_regex)
		regfree(&f->regex);
	f->has_regex = !regcomp(&f->regex, text, REG_EXTENDED | REG_NOSUB);
	return f->has_regex;
}

/* One part of "0,4-7"; returns what follows it, NULL if it is none. */
static const char *parse_range(const char *text, struct rewrite_range *r)
{
	char *end;
	if (!strncmp(text, "shared", 6)) {
		*r = (struct rewrite_range){-1, -1};
		end = (char *)text + 6;
	} else {
		r->from = r->to = strtoll(text, &end, 10);
		if (end == text || r->from < 0)
			return NULL;
	}
	if (*end == '-' && r->from >= 0) {
		text = end + 1;
		r->to = strtoll(text, &end, 10);
		if (end == text || r->to < r->from)
			return NULL;
	}
	return *end == ',' ? end + 1 : *end ? NULL : end;
}

bool filter_choose_ranks(void *target, const struct choice *c, char *text)
{
	struct filter *f = filter_at(target, c);
	const char *rest = text;
	do
		rest = f->nranks < FILTER_RANGES ? parse_range(rest, &f->ranks[f->nranks++]) : NULL;
	while (rest && *rest);
	return rest;
}

void filter_close(struct filter *f)
{
	if (f->has_regex)
		regfree(&f->regex);
	f->has_regex = false;
}

bool filter_module(const struct filter *f, int module)
{
	return !f->modules || f->modules >> module & 1;
}

bool filter_rank(const struct filter *f, int64_t rank)
{
	for (size_t i = 0; i < f->nranks; i++)
		if (rank >= f->ranks[i].from && rank <= f->ranks[i].to)
			return true;
	return !f->nranks;
}

bool filter_name(const struct filter *f, const char *name)
{
	const char *text = name ? name : "";
	return (!f->glob || !fnmatch(f->glob, text, 0)) && (!f->has_regex || !regexec(&f->regex, text, 0, NULL, 0));
}
