/* A log as one JSON object, record by record: memory does not grow with the log. */
#include <stdlib.h>

#include "cli.h"
#include "json.h"
#include "show.h"
#include "trailer.h"

/* ---- pieces: `,` is between, never behind ---- */

static void key(struct output *o, const char *comma, const char *name)
{
	output_text(o, comma);
	json_put(o, name);
	output_text(o, ": ");
}

static void member_text(struct output *o, const char *comma, const char *name, const char *text)
{
	key(o, comma, name);
	json_put(o, text);
}

static void number_i64(struct output *o, int64_t value)
{
	char text[OUTPUT_NUMBER];
	output_bytes(o, text, (size_t)(put_i64(text, value) - text));
}

static void number_f64(struct output *o, double value)
{
	char text[OUTPUT_NUMBER];
	output_bytes(o, text, (size_t)(put_exact(text, value) - text));
}

static void member_i64(struct output *o, const char *comma, const char *name, int64_t value)
{
	key(o, comma, name);
	number_i64(o, value);
}

static void member_f64(struct output *o, const char *comma, const char *name, double value)
{
	key(o, comma, name);
	number_f64(o, value);
}

/* ---- values ---- */

static void put_bytes_text(struct output *o, const uint8_t *at, size_t n)
{
	char text[SHOW_TEXT] = {0};
	memcpy(text, at, n < sizeof text ? n : sizeof text - 1);
	json_put(o, text);
}

static void put_uuid(struct output *o, const uint8_t *at, size_t n)
{
	output_text(o, "\"");
	for (size_t i = 0; i < n; i++)
		output_format(o, "%02x", at[i]);
	output_text(o, "\"");
}

static void put_number(struct output *o, enum field_type type, const uint8_t *at)
{
	uint64_t bits;
	double value;
	char text[OUTPUT_NUMBER], *end;
	memcpy(&bits, at, sizeof bits);
	memcpy(&value, at, sizeof value);
	if (type == FIELD_F64)
		end = put_exact(text, value);
	else
		end = type == FIELD_I64 ? put_i64(text, (int64_t)bits) : put_u64(text, bits);
	output_bytes(o, text, (size_t)(end - text));
}

static void put_numbers(struct output *o, enum field_type type, const uint8_t *at, size_t n)
{
	output_text(o, "[");
	for (size_t i = 0; i < n; i++) {
		output_text(o, i ? ", " : "");
		put_number(o, type, at + 8 * i);
	}
	output_text(o, "]");
}

/* Most readers of JSON round numbers beyond 2^53: a record id is a text. */
static void put_id(struct output *o, const uint8_t *at)
{
	output_text(o, "\"");
	put_number(o, FIELD_U64, at);
	output_text(o, "\"");
}

static void put_field(struct output *o, const struct schema_field *f, const uint8_t *at)
{
	if (f->type == FIELD_TEXT)
		put_bytes_text(o, at, 8u * f->count);
	else if (f->type == FIELD_UUID)
		put_uuid(o, at, 8u * f->count);
	else if (f->type == FIELD_U64 && !strcmp(f->unit, "record id"))
		put_id(o, at);
	else if (f->count == 1)
		put_number(o, f->type, at);
	else
		put_numbers(o, f->type, at, f->count);
}

static void put_elements(struct output *o, const struct log_record *r, const struct schema_element *e,
			 const uint8_t *at, size_t n)
{
	output_text(o, "[");
	for (size_t k = 0; k < n; k++, at += e->size) {
		output_text(o, k ? ", {" : "{");
		for (int i = 0; i < e->nfields; i++) {
			key(o, i ? ", " : "", e->fields[i].name);
			if (log_record_has(r, &e->fields[i]))
				put_field(o, &e->fields[i], at + e->fields[i].offset);
			else
				output_text(o, "null");
		}
		output_text(o, "}");
	}
	output_text(o, "]");
}

static void put_array(struct output *o, const struct log_record *r, const struct schema_field *f)
{
	size_t n;
	const uint8_t *at = log_record_array(r, f, &n);
	if (f->element)
		put_elements(o, r, f->element, at, n);
	else
		put_numbers(o, FIELD_I64, at, n);
}

/* What means nothing, and the accesses of a trace, which iolens trace shows. */
static bool is_left_out(const struct schema_module *m, const struct schema_field *f)
{
	return (m->layout == LAYOUT_HEATMAP && !strcmp(f->name, "unused")) ||
	       (m->layout == LAYOUT_DXT && (!f->count || !strcmp(f->name, "shared")));
}

static void put_counters(struct output *o, const struct log_record *r)
{
	const char *comma = "";
	output_text(o, "{");
	for (uint32_t i = 0; i < r->schema->nfields; i++) {
		const struct schema_field *f = &r->schema->fields[i];
		if (is_left_out(r->schema, f))
			continue;
		key(o, comma, f->name);
		comma = ", ";
		if (!log_record_has(r, f))
			output_text(o, "null");
		else if (!f->count)
			put_array(o, r, f);
		else
			put_field(o, f, (const uint8_t *)r->data + f->offset);
	}
	output_text(o, "}");
}

static void put_record(struct show *s, const struct log_record *r, bool first)
{
	struct output *o = &s->out;
	const char *name = log_name(s->log, r->id);
	const struct log_pair *mount = name && s->job ? log_mount_of(s->job, name) : NULL;
	output_format(o, "%s\n   {\"id\": \"%llu\"", first ? "" : ",", (unsigned long long)r->id);
	member_i64(o, ", ", "rank", r->rank);
	key(o, ", ", "name");
	if (name)
		json_put(o, name);
	else
		output_text(o, "null");
	member_text(o, ", ", "mount", mount ? mount->key : "");
	member_text(o, ", ", "file_system", mount ? mount->value : "");
	key(o, ", ", "counters");
	put_counters(o, r);
	output_text(o, "}");
}

/* ---- sums ---- */

static void put_total(struct output *o, const struct sums *u)
{
	struct log_record total = {.schema = u->module, .data = u->record, .size = u->module->size};
	key(o, ",\n   ", "total");
	put_counters(o, &total);
}

static void put_files(struct output *o, const struct sums *u)
{
	key(o, ",\n   ", "files");
	for (int i = 0; i < CATEGORIES; i++) {
		struct category_sum sum = sums_category(u, i);
		key(o, i ? ", " : "{", sum.name);
		member_i64(o, "{", "files", sum.files);
		member_i64(o, ", ", "bytes", sum.bytes);
		member_i64(o, ", ", "max_offset", sum.max_offset);
		output_text(o, "}");
	}
	output_text(o, "}");
}

static void put_performance(struct output *o, const struct sums *u)
{
	struct performance p = sums_performance(u);
	key(o, ",\n   ", "performance");
	member_i64(o, "{", "total_bytes", u->bytes);
	member_i64(o, ", ", "slowest_rank", p.slowest.rank);
	member_f64(o, ", ", "slowest_rank_io_time", p.slowest.io);
	member_f64(o, ", ", "slowest_rank_meta_only_time", p.slowest.meta);
	member_f64(o, ", ", "slowest_rank_rw_only_time", p.slowest.data);
	member_f64(o, ", ", "shared_time_by_slowest", u->shared_time);
	member_f64(o, ", ", "agg_time_by_slowest", p.time);
	member_f64(o, ", ", "agg_perf_by_slowest", p.speed);
	output_text(o, "}");
}

static void put_file_list(struct show *s, const struct sums *u)
{
	struct output *o = &s->out;
	int64_t all = s->job ? s->job->nprocs : 1;
	key(o, ",\n   ", "file_list");
	for (size_t i = 0; i < u->file_index.used; i++) {
		const struct file_sum *f = &u->files[i];
		const char *name = log_name(s->log, f->id);
		int64_t processes = f->processes == -1 ? all : f->processes;
		output_format(o, "%s\n    {\"id\": \"%llu\"", i ? "," : "[", (unsigned long long)f->id);
		member_text(o, ", ", "name", name ? name : "");
		member_i64(o, ", ", "processes", processes);
		member_f64(o, ", ", "slowest", f->slowest);
		member_f64(o, ", ", "average", processes > 0 ? f->time / (double)processes : 0);
		if (u->parts & SHOW_FILE_DETAIL) {
			struct log_record r = {.schema = u->module, .data = u->merged + i * u->module->size};
			key(o, ", ", "counters");
			put_counters(o, &r);
		}
		output_text(o, "}");
	}
	output_text(o, "]");
}

static void put_sums(struct show *s, const struct sums *u)
{
	if (u->used && u->parts & SHOW_TOTAL)
		put_total(&s->out, u);
	if (u->used && u->parts & SHOW_FILE)
		put_files(&s->out, u);
	if (u->used && u->parts & SHOW_PERF)
		put_performance(&s->out, u);
	if (u->used && u->parts & SHOW_FILE_LIST)
		put_file_list(s, u);
}

/* ---- modules ---- */

static int put_records(struct show *s, struct log_records *records, struct sums *u, struct log_error *err)
{
	struct log_record r;
	int code = log_records_header(records, &r, err);
	bool first = true;
	if (code > 0 && s->parts & SHOW_BASE) {
		key(&s->out, ",\n   ", "header");
		put_counters(&s->out, &r);
	}
	if (s->parts & SHOW_BASE)
		key(&s->out, ",\n   ", "records");
	output_text(&s->out, s->parts & SHOW_BASE ? "[" : "");
	while (code >= 0 && (code = log_records_next(records, &r, err)) > 0 && !s->out.error) {
		if (!show_wants(s, &r))
			continue;
		if (s->parts & SHOW_BASE)
			put_record(s, &r, first);
		first = false;
		if (!sums_add(u, &r))
			code = log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	}
	sums_end(u);
	output_text(&s->out, s->parts & SHOW_BASE ? "]" : "");
	return code;
}

static void put_decoded(struct show *s, int module, struct log_records *records)
{
	struct sums u;
	struct log_error err;
	bool ready = sums_open(&u, &schema_modules[module], s->parts);
	int code = ready ? put_records(s, records, &u, &err)
			 : log_fail(&err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	if (code < 0) {
		key(&s->out, ",\n   ", "damaged");
		output_text(&s->out, "true");
		show_error(s, log_module_name(module), &err);
	} else {
		put_sums(s, &u);
	}
	sums_close(&u);
}

static void put_module(struct show *s, int module, bool first)
{
	const struct log_container *c = log_container(s->log);
	const char *own = module < LOG_MOD_COUNT ? schema_modules[module].key : NULL;
	bool partial = c->partial >> module & 1;
	struct log_records *records;
	struct log_error err;
	output_text(&s->out, first ? "\n  {" : ",\n  {");
	member_text(&s->out, "", "module", own ? own : log_module_name(module));
	member_text(&s->out, ", ", "name", log_module_name(module));
	member_i64(&s->out, ", ", "id", module);
	member_i64(&s->out, ", ", "version", c->module_version[module]);
	key(&s->out, ", ", "partial");
	output_text(&s->out, partial ? "true" : "false");
	int code = log_records_open(&records, s->log, module, &err);
	key(&s->out, ", ", "decoded");
	output_text(&s->out, code >= 0 ? "true" : "false");
	if (code >= 0)
		put_decoded(s, module, records);
	else if (code != LOG_E_UNSUPPORTED)
		show_error(s, log_module_name(module), &err);
	log_records_close(records);
	output_text(&s->out, "}");
	if (partial && !(s->parts & SHOW_INCOMPLETE)) {
		output_flush(&s->out);
		s->exit = cli_fail(CLI_PARTIAL, "%s: %s module is incomplete; --show-incomplete makes this no error",
				   s->path, log_module_name(module));
	}
}

/* ---- the job ---- */

static void put_job(struct show *s)
{
	struct output *o = &s->out;
	const struct log_job *j = s->job;
	key(o, ",\n \"job\": {\n  ", "id");
	number_i64(o, j->id);
	member_i64(o, ", ", "uid", j->uid);
	member_i64(o, ", ", "nprocs", j->nprocs);
	member_text(o, ",\n  ", "exe", j->exe);
	member_i64(o, ",\n  ", "start", j->start);
	member_i64(o, ", ", "start_ns", j->start_ns);
	member_i64(o, ", ", "end", j->end);
	member_i64(o, ", ", "end_ns", j->end_ns);
	member_f64(o, ", ", "run_time", log_run_time(s->log));
	output_text(o, ",\n  \"metadata\": {");
	for (size_t i = 0; i < j->nmetadata; i++)
		member_text(o, i ? ", " : "", j->metadata[i].key, j->metadata[i].value);
	output_text(o, "},\n  \"mounts\": [");
	for (size_t i = 0; i < j->nmounts; i++) {
		member_text(o, i ? ", {" : "{", "point", j->mounts[i].key);
		member_text(o, ", ", "type", j->mounts[i].value);
		output_text(o, "}");
	}
	output_text(o, "]}");
}

static void put_format(struct show *s)
{
	static const char *const names[] = {"zlib", "bzip2", "none"};
	const struct log_container *c = log_container(s->log);
	output_text(&s->out, "{" JSON_SCHEMA("show", 1));
	member_text(&s->out, "", "log", s->path);
	member_text(&s->out, ",\n \"format\": {", "version", c->version);
	member_text(&s->out, ", ", "byte_order", c->swapped ? "big" : "little");
	member_text(&s->out, ", ", "compression", names[c->compression % 3]);
	output_text(&s->out, "}");
}

/* ---- the extension trailer ---- */

static void put_cell(struct output *o, const struct trailer_table *t, uint64_t row, const struct trailer_field *f,
		     uint32_t at)
{
	size_t n;
	if (f->type == TRAILER_F64) {
		number_f64(o, trailer_f64(t, row, f, at));
	} else if (f->type == TRAILER_I64) {
		number_i64(o, trailer_i64(t, row, f, at));
	} else if (f->type == TRAILER_U64) {
		output_format(o, "%llu", (unsigned long long)trailer_i64(t, row, f, at));
	} else {
		const char *text = trailer_text(t, row, f, at, &n);
		char *whole = strndup(text, n);
		json_put(o, whole ? whole : "");
		free(whole);
	}
}

static void put_row(struct output *o, const struct trailer_table *t, uint64_t row)
{
	for (size_t i = 0; i < trailer_fields(t); i++) {
		const struct trailer_field *f = trailer_field_at(t, i);
		uint32_t n = f->type == TRAILER_CHAR ? 1 : f->count;
		key(o, i ? ", " : "", f->name);
		for (uint32_t at = 0; at < n; at++) {
			output_text(o, n == 1 ? "" : at ? ", " : "[");
			put_cell(o, t, row, f, at);
		}
		output_text(o, n == 1 ? "" : "]");
	}
}

static void put_table(struct show *s, struct trailer *t, const char *name, bool first)
{
	struct trailer_table *table;
	struct log_error err;
	if (trailer_find(t, name, &table, &err) < 0) {
		show_error(s, name, &err);
		return;
	}
	key(&s->out, first ? "\n  " : ",\n  ", name);
	output_text(&s->out, "[");
	for (uint64_t row = 0; row < trailer_rows(table); row++) {
		output_text(&s->out, row ? ",\n   {" : "\n   {");
		put_row(&s->out, table, row);
		output_text(&s->out, "}");
	}
	output_text(&s->out, "]");
	trailer_free(table);
}

static void put_trailer(struct show *s)
{
	struct trailer *t;
	struct log_error err;
	int code = trailer_open(&t, s->log, &err);
	if (code < 0)
		show_error(s, "trailer", &err);
	output_text(&s->out, ",\n \"tables\": {");
	for (size_t i = 0; code >= 0 && i < trailer_count(t); i++)
		put_table(s, t, trailer_at(t, i)->name, !i);
	output_text(&s->out, "}");
	trailer_close(t);
}

void show_json(struct show *s)
{
	const struct log_container *c = log_container(s->log);
	bool first = true;
	put_format(s);
	if (s->job)
		put_job(s);
	output_text(&s->out, ",\n \"modules\": [");
	for (int i = 0; i < LOG_MAX_MODULES && !s->out.error; i++) {
		if ((!c->module[i].length && !(c->partial >> i & 1)) || !filter_module(&s->filter, i))
			continue;
		put_module(s, i, first);
		first = false;
	}
	output_text(&s->out, "]");
	if (s->parts & SHOW_EXT)
		put_trailer(s);
	output_text(&s->out, "}\n");
}
