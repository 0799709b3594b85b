/* What iolens diff prints. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diff.h"
#include "shown.h"
#include "units.h"

enum { SHOWN = 12 /* counters of one record in the text; the others are counted */ };

static void print_record(const char *module, const struct diff_record *r)
{
	printf("%s ", module);
	if (r->name && *r->name)
		shown_put(stdout, r->name);
	else
		printf("record %" PRIu64, r->id);
	printf(r->rank < 0 ? ", all ranks" : ", rank %" PRId64, r->rank);
}

static void print_change(const struct diff_value *a, const struct diff_value *b)
{
	shown_put(stdout, a->text);
	printf(" -> ");
	shown_put(stdout, b->text);
	if (a->is_number && b->is_number && a->number != 0)
		printf("  (%+.3g %%)", (b->number - a->number) / (a->number < 0 ? -a->number : a->number) * 100);
	putchar('\n');
}

static void json_value(struct json *j, const char *name, const struct diff_value *v)
{
	if (v->is_number)
		json_raw(j, name, v->text);
	else
		json_text(j, name, v->text);
}

static void json_record(struct json *j, const struct diff_record *a, const struct diff_record *b)
{
	char id[24];
	json_text(j, "name", a->name ? a->name : "");
	if (b->name && a->name && strcmp(a->name, b->name) != 0)
		json_text(j, "name_in_b", b->name);
	json_i64(j, "rank", a->rank);
	snprintf(id, sizeof id, "%" PRIu64, a->id);
	json_text(j, "id", id);
}

void report_begin(struct diff_report *r)
{
	r->json = (struct json){.out = stdout};
	if (!r->options->json)
		return;
	json_document(&r->json, "diff", 1);
	json_text(&r->json, "a", r->paths[0]);
	json_text(&r->json, "b", r->paths[1]);
	json_open(&r->json, "job", '[');
}

void report_job(struct diff_report *r, const char *field, const struct diff_value *a, const struct diff_value *b)
{
	r->any = true;
	if (r->options->json) {
		json_open(&r->json, NULL, '{');
		json_text(&r->json, "field", field);
		json_value(&r->json, "a", a);
		json_value(&r->json, "b", b);
		json_close(&r->json);
	} else {
		printf("job %s: ", field);
		print_change(a, b);
	}
}

void report_module(struct diff_report *r, const char *module)
{
	if (!r->options->json)
		return;
	json_open(&r->json, NULL, '{');
	json_text(&r->json, "module", module);
	json_open(&r->json, "differences", '[');
}

void report_only(struct diff_report *r, const char *module, int side, const struct diff_record *one)
{
	r->any = true;
	if (r->options->json) {
		json_open(&r->json, NULL, '{');
		json_record(&r->json, one, one);
		json_text(&r->json, "only_in", side ? "b" : "a");
		json_close(&r->json);
	} else if (!r->options->brief) {
		printf("only in %s: ", side ? "B" : "A");
		print_record(module, one);
		putchar('\n');
	}
}

static void begin_record(struct diff_report *r, const char *module, const struct diff_record *a,
			 const struct diff_record *b)
{
	r->in_record = true;
	r->shown = 0;
	if (r->options->json) {
		json_open(&r->json, NULL, '{');
		json_record(&r->json, a, b);
		json_open(&r->json, "counters", '[');
	} else if (!r->options->brief) {
		print_record(module, a);
		if (a->name && b->name && strcmp(a->name, b->name) != 0) {
			printf(" (in B ");
			shown_put(stdout, b->name);
			printf(")");
		}
		putchar('\n');
	}
}

void report_counter(struct diff_report *r, const char *module, const struct diff_record *a, const struct diff_record *b,
		    const char *counter, const struct diff_value *va, const struct diff_value *vb)
{
	r->any = true;
	if (!r->in_record)
		begin_record(r, module, a, b);
	r->shown++;
	if (r->options->json) {
		json_open(&r->json, NULL, '{');
		json_text(&r->json, "counter", counter);
		json_value(&r->json, "a", va);
		json_value(&r->json, "b", vb);
		json_close(&r->json);
	} else if (!r->options->brief && r->shown <= SHOWN) {
		printf("    %s: ", counter);
		print_change(va, vb);
	}
}

void report_record_end(struct diff_report *r)
{
	if (!r->in_record)
		return;
	if (r->options->json) {
		json_close(&r->json);
		json_close(&r->json);
	} else if (!r->options->brief && r->shown > SHOWN) {
		printf("    and %zu more\n", r->shown - SHOWN);
	}
	r->in_record = false;
}

void report_module_end(struct diff_report *r, const char *module, const struct diff_count *n)
{
	if (r->options->json) {
		json_close(&r->json);
		json_i64(&r->json, "compared", (int64_t)n->compared);
		json_i64(&r->json, "differing", (int64_t)n->differing);
		json_i64(&r->json, "counters", (int64_t)n->counters);
		json_i64(&r->json, "only_in_a", (int64_t)n->only[0]);
		json_i64(&r->json, "only_in_b", (int64_t)n->only[1]);
		json_close(&r->json);
	} else if (n->differing || n->only[0] || n->only[1]) {
		printf("%s: %zu of %s %s, in %s; %zu only in A, %zu only in B\n", module, n->differing,
		       COUNTED(n->compared, "record"), units_agree((int64_t)n->differing, "differs", "differ"),
		       COUNTED(n->counters, "counter"), n->only[0], n->only[1]);
	}
}

void report_end(struct diff_report *r, size_t compared)
{
	if (r->options->json) {
		json_close(&r->json);
		json_bool(&r->json, "same", !r->any);
		json_close(&r->json);
	} else if (!r->any) {
		printf("no difference in %s\n", COUNTED(compared, "record"));
	}
}
