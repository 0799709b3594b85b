/* iolens trace: every read and write that a log has traced (Darshan's DXT). */
#include "trace.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"

/* The traced interface by its key or Darshan's name. */
static bool traces(const struct schema_module *m, const char *name)
{
	int traced = LOG_MOD_COUNT - 1;
	while (traced > 0 &&
	       (!schema_modules[traced].key || strcmp(schema_modules[traced].key, m->interface->traces) != 0))
		traced--;
	return !strcasecmp(m->interface->traces, name) || !strcasecmp(schema_modules[traced].name, name);
}

static const char *traced_name(const void *unused, size_t i)
{
	for (int m = 0; m < LOG_MOD_COUNT; m++)
		if (schema_modules[m].layout == LAYOUT_DXT && !i--)
			return schema_modules[m].interface->traces;
	return NULL;
}

static bool set_module(void *target, const struct choice *c, char *text)
{
	struct trace *t = target;
	for (int i = 0; i < LOG_MOD_COUNT; i++) {
		const struct schema_module *m = &schema_modules[i];
		if (m->layout == LAYOUT_DXT && (!strcasecmp(m->key, text) || traces(m, text)))
			t->filter.module = i;
	}
	return t->filter.module;
}

/* "a:b", either of them may be left out */
static bool set_time(void *target, const struct choice *c, char *text)
{
	struct trace *t = target;
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

static bool set_operation(void *target, const struct choice *c, char *text)
{
	struct trace *t = target;
	t->filter.operation = *text;
	return !strcmp(text, "read") || !strcmp(text, "write");
}

/* 4096, 64k, 1M, 1MiB, 2G */
static bool set_size(void *target, const struct choice *c, char *text)
{
	int64_t *size = (int64_t *)((char *)target + c->at);
	static const char units[] = "kmgt";
	char *end;
	*size = strtoll(text, &end, 10);
	const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (end == text || *size < 0 || (*end && (!unit || (end[1] && strcmp(end + 1, "iB")))))
		return false;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	if (*size > INT64_MAX >> shift)
		return false;
	*size <<= shift;
	return true;
}

static bool set_chronological(void *target, const struct choice *c, char *unused)
{
	struct trace *t = target;
	t->form = TRACE_CHRONOLOGICAL;
	return true;
}

static bool set_csv(void *target, const struct choice *c, char *unused)
{
	struct trace *t = target;
	t->form = TRACE_CSV;
	return true;
}

static bool set_json(void *target, const struct choice *c, char *unused)
{
	struct trace *t = target;
	t->form = TRACE_JSON;
	return true;
}

static bool set_incomplete(void *target, const struct choice *c, char *unused)
{
	struct trace *t = target;
	t->show.parts |= SHOW_INCOMPLETE;
	return true;
}

static const struct choice table[] = {
	{"chronological", NULL, set_chronological,
	 .about = "one line per access, over all files in the order they began"},
	{"csv", NULL, set_csv, .about = "the same as CSV, with everything known about an access"},
	{"json", NULL, set_json, .about = "the same as JSON"},
	{"threads", NULL, choice_flag, .about = "also show the thread of an access, if known",
	 .at = offsetof(struct trace, threads)},
	{"module", "NAME", set_module, "posix, mpiio, stdio or h5d", .expect = "posix, mpiio, stdio or h5d",
	 .word = traced_name},
	FILTER_CHOICES(offsetof(struct trace, filter.records)),
	{"time", "A:B", set_time, .about = "accesses between two times in seconds since the start; both optional"},
	{"op", "read|write", set_operation, .about = "reads or writes only"},
	{"min-size", "N", set_size, .about = "accesses of at least N bytes; k, M, G are 1024, ...",
	 .expect = "bytes, as in 4096, 64k or 1MiB", .at = offsetof(struct trace, filter.min_size)},
	{"max-size", "N", set_size, .about = "accesses of at most N bytes", .expect = "bytes, as in 4096, 64k or 1MiB",
	 .at = offsetof(struct trace, filter.max_size)},
	{"show-incomplete", NULL, set_incomplete, .about = "show modules with incomplete data, too"},
};

static const struct choices trace_choices = {
	.command = "trace",
	.before = "trace [OPTION...] LOG\n"
		  "\n"
		  "Prints every traced access in a log, in the layout of darshan-dxt-parser.\n",
	.after = "Exit codes: 0 ok, 2 wrong usage, 3 unreadable, 4 shown, but some data are missing.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.most = 1,
	.wanted = "give one log",
};

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

static int trace_main(int argc, char **argv)
{
	struct trace t = {.filter.max_size = INT64_MAX};
	struct show *s = &t.show;
	struct log_error err;
	int at = choices_parse(&trace_choices, argc, argv, &t, &s->exit);
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

const struct command trace_command = {
	.name = "trace",
	.main = trace_main,
	.group = GROUP_LOOK,
	.place = 40,
	.about = "its traced accesses, one by one, as darshan-dxt-parser prints them",
	.choices = &trace_choices,
	.reads_logs = true,
};
