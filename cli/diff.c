/* iolens diff: what two logs have in common, and what not. */
#include "diff.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- tolerances ---- */

static bool is_seconds(const struct schema_field *f)
{
	return f->type == FIELD_F64 && !strncmp(f->unit, "seconds", 7);
}

/* What depends on how fast this run happened to be. */
static bool is_timing(const struct value *v, const struct schema_module *m)
{
	const struct schema_field *f = v->field;
	bool of_module = f >= m->fields && f < m->fields + m->nfields;
	bool follows = of_module && f->follows >= 0 && is_seconds(&m->fields[f->follows]);
	bool rank = f->role == ROLE_FASTEST || f->role == ROLE_SLOWEST || f->role == ROLE_VARIANCE;
	return is_seconds(f) || follows || rank || m->layout == LAYOUT_HEATMAP || !strcmp(f->name, "thread");
}

static struct diff_tolerance diff_tolerance_of(const struct diff_options *o, const char *module, const struct value *v)
{
	struct diff_tolerance t = o->tolerance;
	char whole[VALUE_NAME + 32];
	snprintf(whole, sizeof whole, "%s.%s", module, v->name);
	for (size_t i = 0; i < o->nrules; i++)
		if (!fnmatch(o->rules[i].pattern, whole, 0) || !fnmatch(o->rules[i].pattern, v->name, 0))
			t = o->rules[i].tolerance;
	return t;
}

static bool diff_close(const struct diff_tolerance *t, double a, double b)
{
	double far = fabs(a - b), large = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
	return a == b || (isnan(a) && isnan(b)) || far <= t->absolute || far <= t->relative * large;
}

/* ---- values ---- */

struct comparison {
	struct diff_options *options;
	struct diff_side side[2];
	struct diff_report report;
	struct diff_count count;
	size_t compared;
	int exit;
	/* The pair at hand. */
	const char *module;
	const struct diff_record *pair[2];
	struct value *values; /* of the first */
	size_t nvalues, next;
	bool differs;
};

static bool keep_value(void *context, const struct value *v)
{
	struct comparison *x = context;
	if (!index_grow(&x->values, x->nvalues, sizeof *x->values))
		return false;
	x->values[x->nvalues++] = *v;
	return true;
}

static void describe(struct diff_value *out, const struct value *v)
{
	int64_t i;
	double d;
	out->is_number = v->field->type != FIELD_TEXT && v->field->type != FIELD_UUID;
	if (!out->is_number) {
		snprintf(out->text, sizeof out->text, "%.*s", (int)v->bytes, (const char *)v->at);
		for (size_t k = 0; v->field->type == FIELD_UUID && k < v->bytes && k < 100; k++)
			snprintf(out->text + 2 * k, 3, "%02x", ((const uint8_t *)v->at)[k]);
		return;
	}
	memcpy(&i, v->at, sizeof i);
	memcpy(&d, v->at, sizeof d);
	out->number = v->field->type == FIELD_F64 ? d : v->field->type == FIELD_I64 ? (double)i : (double)(uint64_t)i;
	if (v->field->type == FIELD_I64)
		snprintf(out->text, sizeof out->text, "%" PRId64, i);
	else if (v->field->type != FIELD_F64)
		snprintf(out->text, sizeof out->text, "%" PRIu64, (uint64_t)i);
	else
		*put_exact(out->text, d) = '\0';
}

/* An id stands for a name, which may have become another. */
static bool same_reference(struct comparison *x, const struct value *a, const struct value *b)
{
	uint64_t ids[2];
	memcpy(&ids[0], a->at, 8);
	memcpy(&ids[1], b->at, 8);
	const char *names[2];
	for (int k = 0; k < 2; k++)
		names[k] = diff_mapped(&x->side[k], x->options, ids[k]);
	return names[0] && names[1] ? !strcmp(names[0], names[1]) : ids[0] == ids[1];
}

static bool same_value(struct comparison *x, const struct value *a, const struct value *b, struct diff_value out[2])
{
	bool same = !memcmp(a->at, b->at, a->bytes);
	if (same || !a->known || !b->known)
		return true;
	struct diff_tolerance t = diff_tolerance_of(x->options, x->module, a);
	if (t.ignore || (x->options->ignore_times && is_timing(a, x->pair[0]->schema)))
		return true;
	if (!strcmp(a->field->unit, "record id"))
		same = same_reference(x, a, b);
	describe(&out[0], a);
	describe(&out[1], b);
	return same ||
	       (out[0].is_number ? diff_close(&t, out[0].number, out[1].number) : !strcmp(out[0].text, out[1].text));
}

static void tell(struct comparison *x, const char *counter, const struct diff_value v[2])
{
	x->differs = true;
	x->count.counters++;
	report_counter(&x->report, x->module, x->pair[0], x->pair[1], counter, &v[0], &v[1]);
}

/* What one record has more of than the other is told by the field that counts it. */
static bool compare_value(void *context, const struct value *b)
{
	struct comparison *x = context;
	struct diff_value v[2];
	for (size_t i = x->next; i < x->nvalues; i++) {
		if (strcmp(x->values[i].name, b->name) != 0)
			continue;
		x->next = i + 1;
		if (!same_value(x, &x->values[i], b, v))
			tell(x, b->name, v);
		break;
	}
	return true;
}

/* ---- segments of a trace ---- */

static void compare_segment(struct comparison *x, const struct log_segment *a, const struct log_segment *b, size_t n)
{
	static const struct schema_field whole = {.type = FIELD_I64, .unit = "", .name = "", .follows = -1};
	static const struct schema_field seconds = {.type = FIELD_F64, .unit = "seconds", .name = "", .follows = -1};
	static const struct schema_field handle = {.type = FIELD_U64, .unit = "", .name = "thread", .follows = -1};
	const struct {
		const char *name;
		const struct schema_field *field;
		const void *a, *b;
	} members[] = {
		{"offset", &whole, &a->offset, &b->offset},  {"length", &whole, &a->length, &b->length},
		{"start", &seconds, &a->start, &b->start},   {"end", &seconds, &a->end, &b->end},
		{"thread", &handle, &a->thread, &b->thread},
	};
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		struct diff_value v[2];
		struct value va = {.field = members[i].field, .at = members[i].a, .bytes = 8, .known = true}, vb = va;
		vb.at = members[i].b;
		if (i == 4 && (!a->thread || !b->thread))
			continue;
		snprintf(va.name, sizeof va.name, "%s[%zu].%s", a->is_write ? "write" : "read", n, members[i].name);
		if (!same_value(x, &va, &vb, v))
			tell(x, va.name, v);
	}
}

static void compare_segments(struct comparison *x)
{
	struct diff_trace a = diff_trace_of(&x->side[0], x->pair[0]), b = diff_trace_of(&x->side[1], x->pair[1]);
	const struct log_segment *sa = x->side[0].segments + a.first, *sb = x->side[1].segments + b.first;
	size_t i = 0, k = 0, n = 0;
	while (i < a.count && k < b.count) {
		if (sa[i].is_write != sb[k].is_write) {
			/* One has more writes than the other: on to the reads. */
			i += sa[i].is_write;
			k += sb[k].is_write;
			n = 0;
			continue;
		}
		n = i && sa[i].is_write != sa[i - 1].is_write ? 0 : n;
		compare_segment(x, &sa[i++], &sb[k++], n);
		n++;
	}
}

/* ---- records ---- */

static void compare_pair(struct comparison *x, const struct diff_record *a, const struct diff_record *b)
{
	struct log_record one = diff_record_of(&x->side[0], a), other = diff_record_of(&x->side[1], b);
	x->pair[0] = a;
	x->pair[1] = b;
	x->nvalues = x->next = 0;
	x->differs = false;
	x->count.compared++;
	bool same_bytes = one.size == other.size && one.history == other.history && one.missing == other.missing &&
			  !x->options->nmaps &&
			  !memcmp((const uint8_t *)one.data + 16, (const uint8_t *)other.data + 16, one.size - 16);
	if (!same_bytes) {
		values_each(&one, keep_value, x);
		values_each(&other, compare_value, x);
	}
	compare_segments(x);
	report_record_end(&x->report);
	x->count.differing += x->differs;
}

/* As in the order of the records, but for the names that they had before they were mapped. */
static int order_of(const struct diff_record *a, const struct diff_record *b)
{
	int layout = (a->schema->layout > b->schema->layout) - (a->schema->layout < b->schema->layout);
	if (layout)
		return layout;
	int name = a->mapped && b->mapped ? strcmp(a->mapped, b->mapped) : (a->mapped != NULL) - (b->mapped != NULL);
	if (!name && !a->mapped && a->id != b->id)
		name = a->id < b->id ? -1 : 1;
	if (name)
		return name;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void only(struct comparison *x, int side, const struct diff_record *one)
{
	x->count.only[side]++;
	report_only(&x->report, x->module, side, one);
}

static int by_name(const struct diff_record *a, const struct diff_record *b)
{
	return a->name && b->name ? strcmp(a->name, b->name) : (a->name != NULL) - (b->name != NULL);
}

static size_t next_alone(const struct diff_record *r, size_t n, size_t i)
{
	while (i < n && r[i].met)
		i++;
	return i;
}

/* Records that are called alike by now: first those that had the same name, then the others in turn. */
static void compare_group(struct comparison *x, struct diff_record *a, size_t na, struct diff_record *b, size_t nb)
{
	for (size_t i = 0, k = 0; i < na && k < nb;) {
		int order = by_name(&a[i], &b[k]);
		if (!order) {
			a[i].met = b[k].met = true;
			compare_pair(x, &a[i], &b[k]);
		}
		i += order <= 0;
		k += order >= 0;
	}
	size_t i = next_alone(a, na, 0), k = next_alone(b, nb, 0);
	for (; i < na && k < nb; i = next_alone(a, na, i + 1), k = next_alone(b, nb, k + 1))
		compare_pair(x, &a[i], &b[k]);
	for (; i < na; i = next_alone(a, na, i + 1))
		only(x, 0, &a[i]);
	for (; k < nb; k = next_alone(b, nb, k + 1))
		only(x, 1, &b[k]);
}

static size_t group_size(const struct diff_record *r, const struct diff_record *end)
{
	size_t n = 1;
	while (r + n < end && !order_of(r, r + n))
		n++;
	return n;
}

static void compare_records(struct comparison *x)
{
	struct diff_record *a = x->side[0].records, *b = x->side[1].records;
	const struct diff_record *end[2] = {a + x->side[0].nrecords, b + x->side[1].nrecords};
	while (a < end[0] || b < end[1]) {
		int order = a == end[0] ? 1 : b == end[1] ? -1 : order_of(a, b);
		size_t na = order <= 0 ? group_size(a, end[0]) : 0, nb = order >= 0 ? group_size(b, end[1]) : 0;
		compare_group(x, a, na, b, nb);
		a += na;
		b += nb;
	}
}

static void compare_module(struct comparison *x, int module)
{
	struct log_error err;
	x->module = schema_modules[module].key;
	x->count = (struct diff_count){0};
	bool too_large = false; /* what fits would be compared with what fits of the other log */
	for (int k = 0; k < 2; k++) {
		if (diff_load(&x->side[k], x->options, module, &err) >= 0)
			continue;
		snprintf(err.message + strlen(err.message), sizeof err.message - strlen(err.message), " (%s)",
			 log_module_name(module));
		cli_log_error(x->side[k].path, &err);
		x->exit = CLI_PARTIAL;
		too_large |= err.code == LOG_E_MEMORY;
	}
	if (!too_large && (x->side[0].there || x->side[1].there)) {
		report_module(&x->report, x->module);
		compare_records(x);
		report_module_end(&x->report, x->module, &x->count);
	}
	x->compared += x->count.compared;
	diff_unload(&x->side[0]);
	diff_unload(&x->side[1]);
}

static void report_unknown(struct comparison *x, int module)
{
	for (int k = 0; k < 2; k++)
		if (log_container(x->side[k].log)->module[module].length)
			x->exit = cli_fail(CLI_PARTIAL, "%s: %s module: not compared, this version does not decode it",
					   x->side[k].path, log_module_name(module));
}

/* ---- the job ---- */

static void compare_number(struct comparison *x, const char *field, double a, double b)
{
	struct diff_value v[2] = {{.is_number = true, .number = a}, {.is_number = true, .number = b}};
	static const struct schema_field job = {.name = "", .unit = ""};
	struct value of = {.field = &job};
	snprintf(of.name, sizeof of.name, "%s", field);
	struct diff_tolerance t = diff_tolerance_of(x->options, "job", &of);
	if (t.ignore || diff_close(&t, a, b))
		return;
	*put_exact(v[0].text, a) = '\0';
	*put_exact(v[1].text, b) = '\0';
	report_job(&x->report, field, &v[0], &v[1]);
}

static void compare_job(struct comparison *x)
{
	const struct log_job *a = x->side[0].job, *b = x->side[1].job;
	struct diff_value exe[2] = {0};
	snprintf(exe[0].text, sizeof exe[0].text, "%s", a->exe);
	snprintf(exe[1].text, sizeof exe[1].text, "%s", b->exe);
	if (strcmp(a->exe, b->exe) != 0)
		report_job(&x->report, "exe", &exe[0], &exe[1]);
	compare_number(x, "nprocs", (double)a->nprocs, (double)b->nprocs);
	double run[2] = {log_run_time(x->side[0].log), log_run_time(x->side[1].log)};
	/* The whole seconds of an old log end a nanosecond before the next one when it is converted. */
	if (!x->options->ignore_times && fabs(run[0] - run[1]) > 1.5e-9)
		compare_number(x, "run_time", run[0], run[1]);
	if (!x->options->whole_job)
		return;
	compare_number(x, "uid", (double)a->uid, (double)b->uid);
	compare_number(x, "id", (double)a->id, (double)b->id);
	compare_number(x, "start", (double)a->start, (double)b->start);
	compare_number(x, "end", (double)a->end, (double)b->end);
}

static int compare(struct comparison *x)
{
	x->report.options = x->options;
	report_begin(&x->report);
	compare_job(x);
	if (x->options->json) {
		json_close(&x->report.json);
		json_open(&x->report.json, "modules", '[');
	}
	for (int m = 0; m < LOG_MAX_MODULES; m++) {
		if (!filter_module(&x->options->filter, m))
			continue;
		if (m < LOG_MOD_COUNT && schema_modules[m].version)
			compare_module(x, m);
		else
			report_unknown(x, m);
	}
	report_end(&x->report, x->compared);
	free(x->values);
	if (fflush(stdout) != 0 || ferror(stdout))
		return cli_fail(CLI_INPUT, "diff: standard output cannot be written");
	return x->exit ? x->exit : x->report.any ? CLI_FINDINGS : CLI_OK;
}

static int open_side(struct diff_side *s, const char *path)
{
	struct log_error err;
	s->path = path;
	int code = log_open_file(&s->log, path, &err);
	if (code >= 0)
		code = log_job(s->log, &s->job, &err);
	if (code >= 0)
		code = log_names(s->log, &err);
	if (code < 0)
		cli_log_error(path, &err);
	return code < 0 ? CLI_INPUT : CLI_OK;
}

static int diff_logs(struct diff_options *o, char **paths)
{
	struct comparison x = {.options = o, .report.paths = {paths[0], paths[1]}};
	int code = open_side(&x.side[0], paths[0]);
	code = code ? code : open_side(&x.side[1], paths[1]);
	code = code ? code : compare(&x);
	diff_close_side(&x.side[0]);
	diff_close_side(&x.side[1]);
	return code;
}

static int diff_main(int argc, char **argv)
{
	static struct diff_options o;
	int code, at = diff_parse(argc, argv, &o, &code);
	if (at >= 0)
		code = diff_logs(&o, argv + at);
	diff_options_close(&o);
	return code;
}

const struct command diff_command = {
	.name = "diff",
	.main = diff_main,
	.group = GROUP_EXPLAIN,
	.place = 40,
	.about = "every counter that differs between two logs, with tolerances",
	.choices = &diff_choices,
	.reads_logs = true,
};
