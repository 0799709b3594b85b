/* What is wanted of a trace, and what all accesses of a record share. */
#include "trace.h"

bool trace_wants_record(const struct trace_filter *f, const struct trace_record *r)
{
	return (!f->module || f->module == r->module) && filter_rank(&f->records, r->rank) &&
	       filter_name(&f->records, r->name);
}

bool trace_wants_segment(const struct trace_filter *f, const struct log_segment *s)
{
	return (!f->operation || (f->operation == 'w') == s->is_write) && s->length >= f->min_size &&
	       s->length <= f->max_size && (!f->has_time || (s->end >= f->from && s->start <= f->to));
}

bool trace_wants_module(const struct trace *t, int module)
{
	return schema_modules[module].layout == LAYOUT_DXT && log_container(t->show.log)->module[module].length &&
	       (!t->filter.module || t->filter.module == module);
}

void trace_describe(struct trace *t, const struct stripes *stripes, int module, const struct log_record *r,
		    struct trace_record *out)
{
	struct dxt_posix_record head;
	const struct schema_field *thread = schema_by_name(r->schema, "write_segment")->element->fields + 4;
	const char *name = log_name(t->show.log, r->id);
	memcpy(&head, r->data, sizeof head);
	*out = (struct trace_record){
		.id = r->id,
		.rank = r->rank,
		.module = module,
		.name = name ? name : "",
		.mount = name && t->show.job ? log_mount_of(t->show.job, name) : NULL,
		.writes = head.writes,
		.reads = head.reads,
		.has_threads = log_record_has(r, thread),
		.in_trailer = log_container(t->show.log)->accesses[module].length > 0,
		.lustre = stripes ? stripes_of(stripes, r->id) : NULL,
	};
	memcpy(out->host, head.hostname, sizeof head.hostname);
}
