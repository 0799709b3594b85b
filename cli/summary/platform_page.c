#include "platform_page.h"

#include <string.h>

#include "index.h"
#include "shown.h"
#include "units.h"

enum { WORD = 512, FACTS = 4096 };

static void read_text(const struct trailer_table *t, uint64_t row, const char *field, char to[WORD])
{
	size_t n;
	const char *text = trailer_text(t, row, trailer_field(t, field), 0, &n);
	n = n < WORD ? n : WORD - 1;
	for (size_t i = 0; i < n; i++) /* control characters must not reach the terminal */
		to[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	to[n] = '\0';
}

/* ---- nodes and processes ---- */

struct nodes {
	size_t n;
	int64_t processes, least, most; /* on a node */
};

static int count_nodes(struct trailer *t, struct nodes *found, struct log_error *err)
{
	struct trailer_table *table;
	struct text_index hosts = {0};
	int64_t *on = NULL;
	int code = trailer_find(t, "process", &table, err);
	*found = (struct nodes){0};
	for (uint64_t row = 0; code >= 0 && table && row < trailer_rows(table); row++) {
		size_t n;
		bool is_new;
		const char *host = trailer_text(table, row, trailer_field(table, "host"), 0, &n);
		if (trailer_i64(table, row, trailer_field(table, "rank"), 0) < 0 || !n)
			continue;
		size_t at = text_number(&hosts, host, n, &is_new);
		if (at == SIZE_MAX || (is_new && !index_grow(&on, found->n, sizeof *on)))
			break;
		if (is_new)
			on[found->n++] = 0;
		on[at]++;
		found->processes++;
	}
	for (size_t i = 0; i < found->n; i++) {
		found->least = !i || on[i] < found->least ? on[i] : found->least;
		found->most = on[i] > found->most ? on[i] : found->most;
	}
	log_free(on);
	text_index_free(&hosts);
	trailer_free(table);
	return code;
}

static void print_nodes(FILE *out, const struct nodes *n)
{
	char text[UNITS_TEXT], more[UNITS_TEXT];
	fprintf(out, "\nplatform\n%-26s %s\n", "nodes", units_count(text, (int64_t)n->n));
	if (n->least == n->most)
		fprintf(out, "%-26s %s\n", "processes per node", units_count(text, n->most));
	else
		fprintf(out, "%-26s %s to %s\n", "processes per node", units_count(text, n->least),
			units_count(more, n->most));
}

/* ---- facts ---- */

static void print_value(FILE *out, const struct trailer_table *t, uint64_t row)
{
	char value[WORD], unit[WORD], text[UNITS_TEXT];
	double number = trailer_f64(t, row, trailer_field(t, "number"), 0);
	read_text(t, row, "value", value);
	read_text(t, row, "unit", unit);
	if (!strcmp(unit, "byte"))
		fputs(units_bytes(text, number), out);
	else if (*unit)
		fprintf(out, "%.6g%s", number, !strcmp(unit, "%") ? " %" : "");
	else
		shown_put(out, value);
}

/* Where nodes differ: the first one's, and how many others say something else. */
static void print_facts(FILE *out, const struct trailer_table *t)
{
	char name[WORD], before[WORD] = "", host[WORD], shown[4 * WORD];
	uint64_t rows = trailer_rows(t) < FACTS ? trailer_rows(t) : FACTS;
	for (uint64_t row = 0; row < rows; row++) {
		uint64_t others = 0;
		bool seen = false;
		read_text(t, row, "name", name);
		read_text(t, row, "host", host);
		for (uint64_t k = 0; *host && k < rows; k++) {
			read_text(t, k, "name", before);
			bool same = !strcmp(before, name);
			seen |= same && k < row;
			others += same && k > row;
		}
		if (seen)
			continue;
		shown_copy(shown, sizeof shown, name);
		fprintf(out, "%-26s ", shown);
		print_value(out, t, row);
		if (*host) {
			fputs(" on ", out);
			shown_put(out, host);
		}
		if (others)
			fprintf(out, ", and %s of %s own", COUNTED(others, "node"),
				units_agree((int64_t)others, "its", "their"));
		fputc('\n', out);
	}
}

int platform_print(FILE *out, struct trailer *t, struct log_error *err)
{
	struct trailer_table *facts;
	struct nodes nodes;
	int code = count_nodes(t, &nodes, err);
	if (code >= 0)
		code = trailer_find(t, "platform", &facts, err);
	if (code < 0 || !facts)
		return code;
	print_nodes(out, &nodes);
	print_facts(out, facts);
	trailer_free(facts);
	return 0;
}

/* ---- JSON ---- */

static void json_rows(struct json *out, const char *name, const struct trailer_table *t)
{
	char text[WORD];
	json_open(out, name, '[');
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		json_open(out, NULL, '{');
		for (size_t i = 0; i < trailer_fields(t); i++) {
			const struct trailer_field *f = trailer_field_at(t, i);
			if (f->type == TRAILER_F64)
				json_f64(out, f->name, trailer_f64(t, row, f, 0));
			else
				read_text(t, row, f->name, text);
			if (f->type != TRAILER_F64)
				json_text(out, f->name, text);
		}
		json_close(out);
	}
	json_close(out);
}

int platform_json(struct json *out, struct trailer *t, struct log_error *err)
{
	static const char *const tables[] = {"platform", "mounted"};
	struct nodes nodes;
	int code = count_nodes(t, &nodes, err);
	if (code >= 0 && nodes.n) {
		json_i64(out, "nodes", (int64_t)nodes.n);
		json_i64(out, "processes_per_node", nodes.most);
	}
	for (size_t i = 0; code >= 0 && i < sizeof tables / sizeof *tables; i++) {
		struct trailer_table *t_i;
		code = trailer_find(t, tables[i], &t_i, err);
		if (code >= 0 && t_i)
			json_rows(out, tables[i], t_i);
		if (code >= 0)
			trailer_free(t_i);
	}
	return code;
}
