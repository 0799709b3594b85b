#include <stdio.h>
#include <string.h>

#include "trace.h"

static const char stars[] = "# ***************************************************\n";

enum { BATCH = 512 };

static void show_layout(struct trace *t, const struct log_record *lustre)
{
	struct output *o = &t->show.out;
	size_t n, nids, used = 0;
	const uint8_t *components = log_record_array(lustre, schema_by_name(lustre->schema, "component"), &n);
	const uint8_t *ids = log_record_array(lustre, schema_by_name(lustre->schema, "ost_id"), &nids);
	output_text(o, "# DXT, Lustre stripe components:\n");
	for (size_t i = 0; i < n; i++) {
		struct lustre_component c;
		memcpy(&c, components + i * sizeof c, sizeof c);
		output_format(o, "#   extent: [%lld, ", (long long)c.ext_start);
		output_format(o, c.ext_end == -1 ? "EOF" : "%lld", (long long)c.ext_end);
		output_format(o, "), stripe_size: %lld, stripe_count: %lld, OSTs:", (long long)c.stripe_size,
			      (long long)c.stripe_count);
		for (int64_t k = 0; k < c.stripe_count; k++, used++) {
			int64_t id;
			memcpy(&id, ids + 8 * used, sizeof id);
			output_format(o, " %lld", (long long)id);
		}
		output_text(o, "\n");
	}
}

/* darshan-dxt-parser shows threads where the region has them. */
static bool has_column(const struct trace *t, const struct trace_record *r)
{
	return r->has_threads && (t->threads || !r->in_trailer);
}

/* A line that darshan-dxt-parser does not have, of logs that say so. */
static void show_sites(struct trace *t, const struct trace_record *r)
{
	struct output *o = &t->show.out;
	const struct schema_interface *about = schema_modules[r->module].interface;
	struct site site;
	char module[4096];
	for (size_t n = 0; about && about->traces && sites_of(t->sites, about->traces, r->id, n, &site); n++) {
		size_t line = site_line(&site);
		if (!site.length && !line)
			continue;
		snprintf(module, sizeof module, "%.*s", (int)(line ? line : site.length),
			 line ? site.stack : site.module);
		output_text(o, "# DXT, opened by: ");
		put_escaped(o, module);
		if (!line)
			output_format(o, "+0x%llx", (unsigned long long)site.offset);
		if (site.ranks > 1)
			output_format(o, " (%lld ranks)", (long long)site.ranks);
		output_text(o, "\n");
	}
}

static void show_record_head(struct trace *t, const struct trace_record *r)
{
	struct output *o = &t->show.out;
	output_format(o, "\n# DXT, file_id: %llu, file_name: ", (unsigned long long)r->id);
	put_escaped(o, *r->name ? r->name : "(null)");
	output_format(o, "\n# DXT, rank: %lld, hostname: ", (long long)r->rank);
	put_escaped(o, r->host);
	output_format(o, "\n# DXT, write_count: %lld, read_count: %lld\n# DXT, mnt_pt: ", (long long)r->writes,
		      (long long)r->reads);
	put_escaped(o, r->mount ? r->mount->key : "UNKNOWN");
	output_text(o, ", fs_type: ");
	put_escaped(o, r->mount ? r->mount->value : "UNKNOWN");
	output_text(o, "\n");
	show_sites(t, r);
	if (r->lustre)
		show_layout(t, r->lustre);
	output_text(o, "# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)");
	output_text(o, r->lustre ? " [OST]" : "");
	output_text(o, has_column(t, r) ? " Pthread-ID\n" : "\n");
}

/* The reference leaves three blanks for the targets, whether there are any or not. */
static void show_targets(struct output *o, const struct trace_record *r, const struct log_segment *s)
{
	int64_t targets[STRIPES_MAX];
	output_text(o, "   ");
	int n = r->lustre ? stripes_touched(r->lustre, s->offset, s->length, targets) : 0;
	for (int i = 0; i < n; i++)
		output_format(o, "[%lld]", (long long)targets[i]);
}

static void show_segment(struct trace *t, const struct trace_record *r, const struct log_segment *s, int64_t number)
{
	bool posix = r->module == LOG_MOD_DXT_POSIX;
	struct output *o = &t->show.out;
	char name[16];
	snprintf(name, sizeof name, "X_%s", schema_modules[r->module].name + strlen("DXT_"));
	output_format(o, "%8s%8lld%7s%9lld%16lld%16lld%12.4f%12.4f", name, (long long)r->rank,
		      s->is_write ? "write" : "read", (long long)number, (long long)s->offset, (long long)s->length,
		      s->start, s->end);
	if (posix)
		show_targets(o, r, s);
	if (has_column(t, r))
		output_format(o, " %llu", (unsigned long long)s->thread);
	output_text(o, "\n");
}

static bool wants_all(const struct trace_filter *f)
{
	return !f->operation && !f->has_time && f->min_size <= 0 && f->max_size == INT64_MAX;
}

static int show_segments(struct trace *t, struct log_records *records, const struct trace_record *r,
			 struct log_error *err)
{
	struct log_segment batch[BATCH];
	int64_t number[2] = {0}, n;
	bool headed = wants_all(&t->filter);
	if (headed)
		show_record_head(t, r);
	while ((n = log_segments_next(records, batch, BATCH, err)) > 0 && !t->show.out.error) {
		for (int64_t i = 0; i < n; i++) {
			int64_t k = number[batch[i].is_write]++;
			if (!trace_wants_segment(&t->filter, &batch[i]))
				continue;
			if (!headed)
				show_record_head(t, r);
			headed = true;
			show_segment(t, r, &batch[i], k);
		}
	}
	return (int)n;
}

static void show_traced(struct trace *t, const struct stripes *stripes, int module)
{
	struct log_records *records;
	struct log_record one;
	struct log_error err;
	output_format(&t->show.out, "\n%s# %s module data\n%s", stars, log_module_name(module), stars);
	if (!show_partial(&t->show, module))
		return;
	int code = log_records_open(&records, t->show.log, module, &err);
	while (code >= 0 && !t->show.out.error && (code = log_records_next(records, &one, &err)) > 0) {
		struct trace_record r;
		trace_describe(t, stripes, module, &one, &r);
		if (trace_wants_record(&t->filter, &r))
			code = show_segments(t, records, &r, &err);
	}
	if (code < 0)
		show_error(&t->show, log_module_name(module), &err);
	log_records_close(records);
}

void trace_text(struct trace *t, const struct stripes *stripes)
{
	const struct log_container *c = log_container(t->show.log);
	struct log_error unknown; /* what is damaged tells nothing */
	bool any = false;
	sites_open(&t->sites, t->show.log, &unknown);
	show_header(&t->show);
	for (int m = 0; m < LOG_MOD_COUNT; m++) {
		any = any || (schema_modules[m].layout == LAYOUT_DXT && c->module[m].length);
		if (trace_wants_module(t, m))
			show_traced(t, stripes, m);
	}
	if (!any)
		output_text(&t->show.out, "\n# no DXT module data available for this Darshan log.\n");
	sites_close(t->sites);
}
