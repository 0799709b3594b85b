/* Segments of all files and ranks in the order they began: as text, or with nothing rounded as CSV or JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "json.h"
#include "trace.h"

enum { BATCH = 512 };

struct entry {
	struct log_segment segment;
	uint32_t record;
	int64_t number; /* among the reads or writes of its record */
};

struct table {
	struct trace *trace;
	struct trace_record *records;
	size_t nrecords;
	struct entry *entries;
	size_t nentries;
	bool no_memory;
};

static bool keep(struct table *x, const struct log_segment *s, int64_t number)
{
	if (!index_grow(&x->entries, x->nentries, sizeof *x->entries))
		return false;
	x->entries[x->nentries++] = (struct entry){*s, (uint32_t)x->nrecords, number};
	return true;
}

static int collect_segments(struct table *x, struct log_records *records, struct log_error *err)
{
	struct log_segment batch[BATCH];
	int64_t number[2] = {0}, n;
	while ((n = log_segments_next(records, batch, BATCH, err)) > 0)
		for (int64_t i = 0; i < n && !x->no_memory; i++) {
			int64_t k = number[batch[i].is_write]++;
			if (trace_wants_segment(&x->trace->filter, &batch[i]))
				x->no_memory = !keep(x, &batch[i], k);
		}
	return (int)n;
}

static int collect_record(struct table *x, const struct stripes *stripes, struct log_records *records, int module,
			  const struct log_record *one, struct log_error *err)
{
	struct trace_record r;
	trace_describe(x->trace, stripes, module, one, &r);
	if (!trace_wants_record(&x->trace->filter, &r))
		return LOG_OK;
	x->no_memory |= !index_grow(&x->records, x->nrecords, sizeof *x->records);
	if (x->no_memory)
		return LOG_OK;
	x->records[x->nrecords] = r;
	int code = collect_segments(x, records, err);
	x->nrecords++;
	return code;
}

static void collect_module(struct table *x, const struct stripes *stripes, int module)
{
	struct trace *t = x->trace;
	struct log_records *records;
	struct log_record one;
	struct log_error err;
	int code = log_records_open(&records, t->show.log, module, &err);
	while (code >= 0 && !x->no_memory && (code = log_records_next(records, &one, &err)) > 0)
		code = collect_record(x, stripes, records, module, &one, &err);
	if (code < 0)
		show_error(&t->show, log_module_name(module), &err);
	log_records_close(records);
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->segment.start < y->segment.start || x->segment.start > y->segment.start)
		return x->segment.start < y->segment.start ? -1 : 1;
	if (x->record != y->record)
		return x->record < y->record ? -1 : 1;
	if (x->segment.is_write != y->segment.is_write)
		return x->segment.is_write ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Nine decimals where they are exact, else as many as it takes. A damaged time is null. */
static void put_time(struct output *o, double t)
{
	char text[OUTPUT_NUMBER] = "null";
	if (isfinite(t))
		snprintf(text, sizeof text, "%.9f", t);
	if (isfinite(t) && strtod(text, NULL) != t)
		snprintf(text, sizeof text, "%.17g", t);
	output_text(o, text);
}

static void put_targets(struct output *o, const struct trace_record *r, const struct log_segment *s, const char *comma)
{
	int64_t targets[STRIPES_MAX];
	int n = r->lustre ? stripes_touched(r->lustre, s->offset, s->length, targets) : 0;
	for (int i = 0; i < n; i++)
		output_format(o, "%s%lld", i ? comma : "", (long long)targets[i]);
}

static const char *interface_of(const struct trace_record *r)
{
	return schema_modules[r->module].interface->traces;
}

/* ---- text ---- */

static void put_text(struct output *o, const struct trace_record *r, const struct entry *e)
{
	const struct log_segment *s = &e->segment;
	output_format(o, "%8s%8lld%7s%9lld%16lld%16lld", interface_of(r), (long long)r->rank,
		      s->is_write ? "write" : "read", (long long)e->number, (long long)s->offset, (long long)s->length);
	output_format(o, "%14.9f%14.9f", s->start, s->end);
	output_format(o, r->has_threads ? "%7llu " : "      - ", (unsigned long long)s->thread);
	put_escaped(o, *r->name ? r->name : "(null)");
	output_text(o, "\n");
}

/* ---- CSV ---- */

static void put_csv(struct output *o, const struct trace_record *r, const struct entry *e)
{
	const struct log_segment *s = &e->segment;
	output_format(o, "%s,%lld,%s,%lld,%lld,%lld,", interface_of(r), (long long)r->rank,
		      s->is_write ? "write" : "read", (long long)e->number, (long long)s->offset, (long long)s->length);
	put_time(o, s->start);
	output_text(o, ",");
	put_time(o, s->end);
	output_text(o, ",");
	if (r->has_threads)
		output_format(o, "%llu", (unsigned long long)s->thread);
	output_format(o, ",%llu,", (unsigned long long)r->id);
	output_quoted(o, r->name);
	output_text(o, ",");
	output_quoted(o, r->host);
	output_text(o, ",");
	output_quoted(o, r->mount ? r->mount->key : "");
	output_text(o, ",");
	output_quoted(o, r->mount ? r->mount->value : "");
	output_text(o, ",");
	put_targets(o, r, s, " ");
	output_text(o, "\n");
}

/* ---- JSON ---- */

static void put_json(struct output *o, const struct trace_record *r, const struct entry *e)
{
	const struct log_segment *s = &e->segment;
	output_format(o, "{\"interface\": \"%s\", \"rank\": %lld, \"operation\": \"%s\", \"segment\": %lld, ",
		      interface_of(r), (long long)r->rank, s->is_write ? "write" : "read", (long long)e->number);
	output_format(o, "\"offset\": %lld, \"length\": %lld, \"start\": ", (long long)s->offset, (long long)s->length);
	put_time(o, s->start);
	output_text(o, ", \"end\": ");
	put_time(o, s->end);
	output_text(o, ", \"thread\": ");
	output_format(o, r->has_threads ? "%llu" : "null", (unsigned long long)s->thread);
	output_format(o, ", \"id\": \"%llu\", \"name\": ", (unsigned long long)r->id);
	json_put(o, r->name);
	output_text(o, ", \"host\": ");
	json_put(o, r->host);
	output_text(o, ", \"mount\": ");
	json_put(o, r->mount ? r->mount->key : "");
	output_text(o, ", \"file_system\": ");
	json_put(o, r->mount ? r->mount->value : "");
	output_text(o, ", \"osts\": [");
	put_targets(o, r, s, ", ");
	output_text(o, "]}");
}

static const struct form {
	const char *before, *first, *between, *after;
	void (*put)(struct output *o, const struct trace_record *r, const struct entry *e);
} forms[] = {
	[TRACE_CHRONOLOGICAL] =
		{"# Module    Rank  Wt/Rd  Segment          Offset       Length      Start(s)        End(s) "
		 "Thread File\n",
		 "", "", "", put_text},
	[TRACE_CSV] = {"interface,rank,operation,segment,offset,length,start,end,thread,id,name,host,mount,file_system,"
		       "osts\n",
		       "", "", "", put_csv},
	[TRACE_JSON] = {"{" JSON_SCHEMA("trace", 1) "\"accesses\": [", "\n ", ",\n ", "\n]}\n", put_json},
};

static void print_entries(const struct table *x)
{
	struct output *o = &x->trace->show.out;
	const struct form *form = &forms[x->trace->form];
	output_text(o, form->before);
	for (size_t i = 0; i < x->nentries && !o->error; i++) {
		const struct entry *e = &x->entries[i];
		output_text(o, i ? form->between : form->first);
		form->put(o, &x->records[e->record], e);
	}
	output_text(o, form->after);
}

void trace_table(struct trace *t, const struct stripes *stripes)
{
	const struct log_container *c = log_container(t->show.log);
	struct table x = {.trace = t};
	for (int m = 0; m < LOG_MOD_COUNT; m++) {
		if (!trace_wants_module(t, m))
			continue;
		if (c->partial >> m & 1)
			t->show.exit = cli_fail(CLI_PARTIAL, "%s: %s module is incomplete: some segments are missing",
						t->show.path, log_module_name(m));
		collect_module(&x, stripes, m);
	}
	if (x.nentries)
		qsort(x.entries, x.nentries, sizeof *x.entries, by_start);
	if (x.no_memory)
		t->show.exit = cli_fail(CLI_INPUT,
					"%s: not enough memory for all segments: select some with --time "
					"or --rank",
					t->show.path);
	else
		print_entries(&x);
	free(x.entries);
	free(x.records);
}
