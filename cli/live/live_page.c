#include "live_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

/* How much of a text stands on a line of this width: up to a comma, a semicolon or the space between two figures. */
static size_t line_of(const char *text, size_t width)
{
	size_t n = strlen(text);
	if (!width || n <= width)
		return n;
	for (n = width; n && !(text[n] == ' ' && strchr(",; ", text[n - 1])); n--)
		;
	return n ? n : width;
}

/* Figures, of which none is cut: on several lines where they are wider than the terminal. Returns how many. */
static size_t put_figures(struct output *out, const char *text, size_t width, const char *end)
{
	enum { INDENT = 2 };
	size_t lines = 0;
	for (size_t n; *text; lines++, text += n, text += strspn(text, " ")) {
		size_t indent = lines && width > INDENT ? INDENT : 0;
		n = line_of(text, width - indent);
		output_format(out, "%*s%.*s%s", (int)indent, "", (int)n, text, end);
	}
	return lines;
}

void live_put_sums(struct output *out, const struct live *l, size_t width)
{
	struct live_counts sum = {0};
	size_t running = 0;
	char text[200], read[UNITS_TEXT], written[UNITS_TEXT];
	for (size_t n = 0; n < l->n; n++) {
		live_counts_add(&sum, &l->jobs[n].since);
		running += l->jobs[n].running;
	}
	snprintf(text, sizeof text, "%s, %s: reads %s/s, writes %s/s, %s/s", COUNTED(l->n, "job"),
		 COUNTED(running, "process"), units_bytes(read, live_rate(l, sum.bytes[IO_READ])),
		 units_bytes(written, live_rate(l, sum.bytes[IO_WRITE])),
		 COUNTED(live_rate(l, live_operations(&sum)), "operation"));
	if (width && strlen(text) > width)
		snprintf(text, sizeof text, "%s, %s: read %s/s, write %s/s, %s/s", COUNTED(l->n, "job"),
			 COUNTED(running, "process"), read, written,
			 COUNTED(live_rate(l, live_operations(&sum)), "op"));
	live_put_cut(out, text, width);
}

static void describe_processes(const struct live_job *j, char *text, size_t room)
{
	int n = snprintf(text, room, "%zu running", j->running);
	if (j->ended)
		n += snprintf(text + n, room - (size_t)n, ", %zu ended", j->ended);
	if (j->ranks)
		n += snprintf(text + n, room - (size_t)n, ", %s of %lld", COUNTED(j->ranks, "rank"),
			      (long long)j->processes[0].store->process.mpi_size);
	if (j->hosts > 1)
		snprintf(text + n, room - (size_t)n, " on %s", COUNTED(j->hosts, "host"));
}

size_t live_put_head(struct output *out, const struct live *l, const struct live_job *j, size_t width, const char *end)
{
	char text[600], processes[200], run[UNITS_TEXT], bytes[4][UNITS_TEXT];
	describe_processes(j, processes, sizeof processes);
	snprintf(text, sizeof text, "%s  %s", j->name, j->command);
	live_put_cut(out, text, width);
	output_text(out, end);
	snprintf(text, sizeof text, "%s; runs %s; read %s (%s/s), wrote %s (%s/s), %s/s", processes,
		 units_seconds(run, j->run_time), units_bytes(bytes[0], (double)j->counts.bytes[IO_READ]),
		 units_bytes(bytes[1], live_rate(l, j->since.bytes[IO_READ])),
		 units_bytes(bytes[2], (double)j->counts.bytes[IO_WRITE]),
		 units_bytes(bytes[3], live_rate(l, j->since.bytes[IO_WRITE])),
		 COUNTED(live_rate(l, live_operations(&j->since)), "operation"));
	return 1 + put_figures(out, text, width, end);
}

size_t live_put_silent(struct output *out, const struct live *l, size_t width, const char *end)
{
	char text[600];
	size_t silent = 0;
	const struct live_node *first = NULL;
	for (size_t n = 0; n < l->nnodes; n++)
		if (l->nodes[n].problem[0] && !silent++)
			first = &l->nodes[n];
	if (!first)
		return 0;
	snprintf(text, sizeof text, "%zu of %s: %s: %s%s", silent, COUNTED(l->nnodes, "node"), first->name,
		 first->problem, silent > 1 ? ", ..." : "");
	live_put_cut(out, text, width);
	output_text(out, end);
	return 1;
}

/* ---- pictures of text ---- */

static bool is_utf8(void)
{
	static int known = -1;
	if (known < 0) {
		const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
		known = 0;
		for (size_t n = 0; n < 3; n++) {
			const char *value = getenv(names[n]);
			if (!value || !*value)
				continue;
			known = strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8");
			break;
		}
	}
	return known;
}

/* Full blocks say most; what is not 0 shows. */
static const char *level(double value, double most)
{
	static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	int at = value > 0 && most > 0;
	while (at && at < 8 && at * at * most < 64 * value) /* by the root: a little is still seen next to much */
		at++;
	return (is_utf8() ? blocks : letters)[at];
}

static double between(const struct state_heat *h, int op, double from, double to)
{
	double sum = 0;
	for (int b = 0; b < STATE_BINS; b++) {
		double at = b * h->width, end = at + h->width;
		double low = from > at ? from : at, high = to < end ? to : end;
		if (high > low)
			sum += (double)h->bytes[op][b] * (high - low) / h->width;
	}
	return sum;
}

void live_put_heat(struct output *out, const struct live_job *j, size_t width, const char *end)
{
	enum { LABEL = 9, SCALE = 19, MOST = 200 };
	size_t n = width > LABEL + SCALE + 10 ? width - LABEL - SCALE : 50;
	double cells[2][MOST], most = 0;
	n = n < MOST ? n : MOST;
	double step = j->run_time / (double)n;
	for (int op = 0; op < 2; op++)
		for (size_t k = 0; k < n; k++) {
			cells[op][k] = between(&j->heat, op, (double)k * step, (double)(k + 1) * step);
			most = cells[op][k] > most ? cells[op][k] : most;
		}
	for (int op = 0; op < 2; op++) {
		char scale[UNITS_TEXT];
		output_format(out, "%-*s", LABEL, op == IO_READ ? "read" : "written");
		for (size_t k = 0; k < n; k++)
			output_text(out, level(cells[op][k], most));
		if (op == IO_READ)
			output_format(out, "|%s/s%s", units_bytes(scale, step > 0 ? most / step : 0), end);
		else
			output_format(out, "|%s%s", units_seconds(scale, j->run_time), end);
	}
}

size_t live_put_sizes(struct output *out, const struct live_job *j, size_t width, const char *end)
{
	static const char *const sizes[STATE_SIZES] = {"100", "1K",  "10K",  "100K", "1M",
						       "4M",  "10M", "100M", "1G",   "more"};
	size_t lines = 0;
	for (int op = 0; op < 2; op++) {
		char text[400];
		size_t used = (size_t)snprintf(text, sizeof text, "%-9s", op == IO_READ ? "reads to" : "writes to");
		for (int c = 0; c < STATE_SIZES; c++) {
			char count[UNITS_TEXT];
			if (j->sizes[op][c])
				used += (size_t)snprintf(text + used, sizeof text - used, " %s: %s ", sizes[c],
							 units_count(count, j->sizes[op][c]));
		}
		lines += put_figures(out, text, width, end);
	}
	return lines;
}

/* ---- a page ---- */

static bool put_table(struct output *out, const struct live *l, const struct live_job *j, enum live_view view,
		      size_t rows, size_t width)
{
	const struct live_order usual = {.column = -1, .filter = ""};
	struct live_table t;
	bool good = live_table_make(&t, l, j, view, &usual);
	if (t.n || view == LIVE_JOBS) {
		output_text(out, "\n");
		live_table_titles(out, view, -1, width);
		output_text(out, "\n");
	}
	for (size_t n = 0; n < t.n && n < rows; n++) {
		live_table_row(out, &t, n, width);
		output_text(out, "\n");
	}
	if (t.n > rows)
		output_format(out, "and %zu more\n", t.n - rows);
	live_table_free(&t);
	return good;
}

static bool put_job(struct output *out, const struct live *l, const struct live_job *j, size_t rows, size_t width)
{
	bool good = true;
	live_put_head(out, l, j, width, "\n");
	live_put_silent(out, l, width, "\n");
	live_put_heat(out, j, width, "\n");
	live_put_sizes(out, j, width, "\n");
	for (int view = LIVE_JOBS + 1; good && view < LIVE_VIEWS; view++)
		good = put_table(out, l, j, view, rows, width);
	return good;
}

bool live_put_page(struct output *out, const struct live *l, size_t rows, size_t width)
{
	if (l->n == 1)
		return put_job(out, l, &l->jobs[0], rows, width);
	live_put_sums(out, l, width);
	output_text(out, "\n");
	live_put_silent(out, l, width, "\n");
	return !l->n || put_table(out, l, NULL, LIVE_JOBS, rows, width);
}
