#include "filter.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "expression.h"

struct filter_rule {
	bool is_range;
	const struct expression *expression;
	int64_t first, last;
	uint32_t modules;
	struct filter_rule *next;
};

static struct filter_rule *add_rule(struct filter *f)
{
	struct filter_rule *r = arena_take(sizeof *r);
	if (r) {
		r->next = f->rules;
		f->rules = r;
	}
	return r;
}

/* By how much an operator multiplies what stands before it: `x{n}` is compiled as n copies, `x+` as two. */
static long copies(const char *operator, char before)
{
	if (*operator== '{')
		return strtol(operator+ 1, NULL, 10);
	return *operator== '+' && strchr(")+*?}", before) ? 2 : 1;
}

/*
 * To compile an expression takes time and memory in the product of its repetitions, to match one with references to what was
 * matched may take for ever: neither may come from a setting.
 */
static bool affordable(const char *text)
{
	enum { MOST = 1000 };
	long product = 1;
	char before = 'x';
	if (strlen(text) > MOST)
		return false;
	for (; *text; text++) {
		long n = copies(text, before);
		if (n > MOST || (product *= n > 1 ? n : 1) > MOST)
			return false;
		before = *text;
		if (*text == '\\' && text[1] >= '1' && text[1] <= '9')
			return false;
		if (*text == '\\' && text[1]) {
			text++;
			before = 'x';
		}
	}
	return true;
}

static const char *add_expression(struct filter *f, const char *text, size_t n, uint32_t modules)
{
	const char *copy = arena_copy(text, n);
	if (copy && !affordable(copy))
		return "too large an expression, or one with references";
	const struct expression *compiled = copy ? expression_make(copy) : NULL;
	if (!compiled)
		return "not a regular expression";
	struct filter_rule *r = add_rule(f);
	if (!r)
		return "no memory";
	r->expression = compiled;
	r->modules = modules;
	return NULL;
}

const char *filter_add(struct filter *f, const char *expressions, uint32_t modules)
{
	const char *wrong = *expressions ? NULL : "no value";
	while (*expressions && !wrong) {
		size_t n = strcspn(expressions, ",");
		wrong = n ? add_expression(f, expressions, n, modules) : "an empty expression";
		expressions += n + (expressions[n] == ',');
	}
	return wrong;
}

/* One end of a range: a number, or nothing where it is open. */
static bool range_end(const char *text, size_t n, int64_t *value)
{
	char copy[20];
	if (n == 0)
		return true;
	if (n >= sizeof copy || strspn(text, "0123456789") < n)
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	*value = strtoll(copy, NULL, 10);
	return true;
}

static const char *add_range(struct filter *f, const char *text, size_t n)
{
	int64_t first = 0, last = INT64_MAX;
	const char *colon = memchr(text, ':', n);
	size_t head = colon ? (size_t)(colon - text) : n;
	bool all = n == 1 && *text == '*';
	bool good = all ||
		    (range_end(text, head, &first) && (colon ? range_end(colon + 1, n - head - 1, &last) : head > 0));
	if (!all && !colon)
		last = first;
	struct filter_rule *r = good && first <= last ? add_rule(f) : NULL;
	if (!r)
		return "not a number, a range a:b or *";
	r->is_range = true;
	r->first = first;
	r->last = last;
	return NULL;
}

const char *filter_add_ranges(struct filter *f, const char *ranges)
{
	const char *wrong = *ranges ? NULL : "no value";
	while (*ranges && !wrong) {
		size_t n = strcspn(ranges, ",");
		wrong = add_range(f, ranges, n);
		ranges += n + (ranges[n] == ',');
	}
	return wrong;
}

bool filter_hits(const struct filter *f, int module, const char *text)
{
	for (const struct filter_rule *r = f->rules; r; r = r->next)
		if (r->modules >> module & 1 && expression_found(r->expression, text))
			return true;
	return false;
}

bool filter_hits_number(const struct filter *f, int64_t n)
{
	for (const struct filter_rule *r = f->rules; r; r = r->next)
		if (r->is_range && n >= r->first && n <= r->last)
			return true;
	return false;
}

bool filter_leaves_out(const struct filter_pair *p, int module, const char *text)
{
	return filter_hits(&p->exclude, module, text) && !filter_hits(&p->include, module, text);
}
