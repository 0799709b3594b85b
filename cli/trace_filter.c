#include "trace.h"

bool trace_wants_record(const struct trace_filter *f, const struct trace_record *r)
{
	return (!f->module || f->module == r->module) && filter_rank(&f->records, r->rank) &&
	       filter_name(&f->records, r->name);
}

bool trace_wants_segment(const struct trace_filter *f, const struct log_segment *s)
{
	return (!f->operation || (f->operation == 'w') == s->is_write) && s->length >= f->min_size &&
	       (!f->has_time || (s->end >= f->from && s->start <= f->to));
}
