#include <fnmatch.h>
#include <stdlib.h>

#include "trace.h"

/* One part of "0,4-7"; returns what follows it, NULL if it is none. */
static const char *parse_range(const char *text, long long *from, long long *to)
{
	char *end;
	*from = *to = strtoll(text, &end, 10);
	if (end == text || *from < 0)
		return NULL;
	if (*end == '-') {
		text = end + 1;
		*to = strtoll(text, &end, 10);
		if (end == text || *to < *from)
			return NULL;
	}
	return *end == ',' ? end + 1 : *end ? NULL : end;
}

bool filter_ranks_valid(const char *text)
{
	long long from, to;
	do
		text = parse_range(text, &from, &to);
	while (text && *text);
	return text;
}

static bool has_rank(const char *text, int64_t rank)
{
	long long from, to;
	while (*text) {
		text = parse_range(text, &from, &to);
		if (rank >= from && rank <= to)
			return true;
	}
	return false;
}

bool filter_record(const struct trace_filter *f, const struct trace_record *r)
{
	return (!f->module || f->module == r->module) && (!f->ranks || has_rank(f->ranks, r->rank)) &&
	       (!f->glob || !fnmatch(f->glob, r->name, 0)) &&
	       (!f->has_regex || !regexec(&f->regex, r->name, 0, NULL, 0));
}

bool filter_segment(const struct trace_filter *f, const struct log_segment *s)
{
	return (!f->operation || (f->operation == 'w') == s->is_write) && s->length >= f->min_size &&
	       (!f->has_time || (s->end >= f->from && s->start <= f->to));
}
