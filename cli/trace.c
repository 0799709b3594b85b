/* iolens trace: every read and write that a log has traced (Darshan's DXT). */
#include "trace.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

static bool set_module(struct trace *t, const char *text)
{
	static const struct {
		const char *name;
		int module;
	} modules[] = {
		{"posix", LOG_MOD_DXT_POSIX},     {"mpiio", LOG_MOD_DXT_MPIIO},     {"mpi-io", LOG_MOD_DXT_MPIIO},
		{"dxt_posix", LOG_MOD_DXT_POSIX}, {"dxt_mpiio", LOG_MOD_DXT_MPIIO},
	};
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (!strcasecmp(modules[i].name, text))
			t->filter.module = modules[i].module;
	return t->filter.module;
}

static bool set_glob(struct trace *t, const char *text)
{
	t->filter.records.glob = text;
	return true;
}

static bool set_regex(struct trace *t, const char *text)
{
	return filter_set_regex(&t->filter.records, text);
}

static bool set_ranks(struct trace *t, const char *text)
{
	return filter_set_ranks(&t->filter.records, text);
}

/* "a:b", either of them may be left out */
static bool set_time(struct trace *t, const char *text)
{
	const char *colon = strchr(text, ':');
	char *end;
	if (!colon)
		return false;
	t->filter.has_time = true;
	t->filter.from = colon == text ? -INFINITY : strtod(text, &end);
	if (colon != text && end != colon)
		return false;
	t->filter.to = colon[1] ? strtod(colon + 1, &end) : INFINITY;
	return !colon[1] || !*end;
}

static bool set_operation(struct trace *t, const char *text)
{
	t->filter.operation = *text;
	return !strcmp(text, "read") || !strcmp(text, "write");
}

/* 4096, 64k, 1M, 2G */
static bool set_size(struct trace *t, const char *text)
{
	static const char units[] = "kmgt";
	char *end;
	t->filter.min_size = strtoll(text, &end, 10);
	const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (end == text || t->filter.min_size < 0 || (*end && (!unit || end[1])))
		return false;
	if (unit)
		t->filter.min_size <<= 10 * (unit - units + 1);
	return true;
}

static bool set_csv(struct trace *t, const char *unused)
{
	t->form = TRACE_CSV;
	return true;
}

static bool set_json(struct trace *t, const char *unused)
{
	t->form = TRACE_JSON;
	return true;
}

static bool set_incomplete(struct trace *t, const char *unused)
{
	t->show.parts |= SHOW_INCOMPLETE;
	return true;
}

static const struct choice {
	const char *name, *value;
	bool (*set)(struct trace *t, const char *text);
	const char *about;
} choices[] = {
	{"csv", NULL, set_csv, "one line per access, in the order they began, times to the nanosecond"},
	{"json", NULL, set_json, "the same as JSON"},
	{"module", "NAME", set_module, "posix or mpiio"},
	{"name", "GLOB", set_glob, "files whose path matches, as in '*.h5'"},
	{"regex", "REGEX", set_regex, "files whose path matches an extended regular expression"},
	{"rank", "LIST", set_ranks, "ranks, as in 0,4-7"},
	{"time", "A:B", set_time, "accesses between two times, in seconds since the start; either may be left out"},
	{"op", "read|write", set_operation, "reads or writes alone"},
	{"min-size", "N", set_size, "accesses of at least N bytes; k, M, G are 1024, ..."},
	{"show-incomplete", NULL, set_incomplete, "show modules that lack data too"},
};

enum { CHOICES = sizeof choices / sizeof *choices, HELP = CHOICES };

static void print_help(void)
{
	puts("usage: iolens trace [OPTION...] LOG\n\n"
	     "Prints every access that a log has traced, in the layout of darshan-dxt-parser.\n");
	for (int i = 0; i < CHOICES; i++) {
		char option[40];
		snprintf(option, sizeof option, "%s %s", choices[i].name, choices[i].value ? choices[i].value : "");
		printf("  --%-18s %s\n", option, choices[i].about);
	}
	puts("  --help               this text\n\n"
	     "Exit codes: 0 ok, 2 wrong usage, 3 unreadable, 4 shown, but some data are missing.");
}

/* Returns the log's place in argv, or -1 with *code set. */
static int parse(int argc, char **argv, struct trace *t, int *code)
{
	struct option options[CHOICES + 2] = {[HELP] = {"help", no_argument, NULL, HELP}};
	for (int i = 0; i < CHOICES; i++)
		options[i] =
			(struct option){choices[i].name, choices[i].value ? required_argument : no_argument, NULL, i};
	opterr = 0;
	for (int got; (got = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
		*code = CLI_OK;
		if (got == HELP || got == 'h')
			print_help();
		else if (got >= CHOICES)
			*code = cli_fail(CLI_USAGE, "trace: %s: see iolens trace --help", argv[optind - 1]);
		else if (choices[got].set(t, optarg))
			continue;
		else
			*code = cli_fail(CLI_USAGE, "trace: --%s %s: expected %s: see iolens trace --help",
					 choices[got].name, optarg, choices[got].value);
		return -1;
	}
	if (optind == argc - 1)
		return optind;
	*code = cli_fail(CLI_USAGE, "trace: give one log: see iolens trace --help");
	return -1;
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
		.lustre = stripes ? stripes_of(stripes, r->id) : NULL,
	};
	memcpy(out->host, head.hostname, sizeof head.hostname);
}

static void trace_log(struct trace *t)
{
	struct log_error err;
	struct show *s = &t->show;
	if (log_job(s->log, &s->job, &err) < 0)
		show_error(s, "job", &err);
	if (log_names(s->log, &err) < 0)
		show_error(s, "names", &err);
	struct stripes *stripes = stripes_open(s->log);
	(t->form == TRACE_TEXT ? trace_text : trace_table)(t, stripes);
	stripes_close(stripes);
}

int trace_main(int argc, char **argv)
{
	struct trace t = {0};
	struct show *s = &t.show;
	struct log_error err;
	int at = parse(argc, argv, &t, &s->exit);
	if (at < 0)
		return s->exit;
	s->path = argv[at];
	if (log_open_file(&s->log, s->path, &err) < 0) {
		cli_log_error(s->path, &err);
		return CLI_INPUT;
	}
	if (!output_open(&s->out, STDOUT_FILENO))
		return cli_fail(CLI_INPUT, "not enough memory");
	trace_log(&t);
	int failed = output_close(&s->out);
	log_close(s->log);
	filter_close(&t.filter.records);
	return failed ? cli_fail(CLI_INPUT, "standard output: %s", strerror(failed)) : s->exit;
}
