#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "diff.h"

/* 0.5, 5%, or both: 0.5,5% */
static bool parse_tolerance(const char *text, struct diff_tolerance *t)
{
	do {
		char *end;
		double value = strtod(text, &end);
		if (end == text || !isfinite(value) || value < 0)
			return false;
		if (*end == '%')
			t->relative = value / 100;
		else
			t->absolute = value;
		end += *end == '%';
		if (*end && (*end != ',' || !end[1]))
			return false;
		text = end + (*end == ',');
	} while (*text);
	return true;
}

static bool add_rule(struct diff_options *o, const char *pattern, struct diff_tolerance t)
{
	if (o->nrules == DIFF_RULES)
		return false;
	o->rules[o->nrules++] = (struct diff_rule){pattern, t};
	return true;
}

/* 5% for all counters, or PATTERN=5% */
static bool set_tolerance(struct diff_options *o, char *text)
{
	struct diff_tolerance t = {0};
	char *equals = strrchr(text, '=');
	if (!equals)
		return parse_tolerance(text, &o->tolerance);
	*equals = '\0';
	return *text && parse_tolerance(equals + 1, &t) && add_rule(o, text, t);
}

static bool set_ignore(struct diff_options *o, char *text)
{
	return *text && add_rule(o, text, (struct diff_tolerance){.ignore = true});
}

static bool set_map(struct diff_options *o, char *text)
{
	char *equals = strchr(text, '=');
	if (!equals || equals == text || o->nmaps == DIFF_MAPS)
		return false;
	*equals = '\0';
	struct diff_map *m = &o->maps[o->nmaps];
	m->to = equals + 1;
	if (regcomp(&m->regex, text, REG_EXTENDED))
		return false;
	o->nmaps++;
	return true;
}

static bool set_modules(struct diff_options *o, char *text)
{
	return filter_set_modules(&o->filter, text);
}

static bool set_glob(struct diff_options *o, char *text)
{
	o->filter.glob = text;
	return true;
}

static bool set_regex(struct diff_options *o, char *text)
{
	return filter_set_regex(&o->filter, text);
}

static bool set_ranks(struct diff_options *o, char *text)
{
	return filter_set_ranks(&o->filter, text);
}

static bool set_numbers(struct diff_options *o, char *unused)
{
	return o->numbers = true;
}

static bool set_times(struct diff_options *o, char *unused)
{
	return o->ignore_times = true;
}

static bool set_job(struct diff_options *o, char *unused)
{
	return o->whole_job = true;
}

static bool set_json(struct diff_options *o, char *unused)
{
	return o->json = true;
}

static bool set_brief(struct diff_options *o, char *unused)
{
	return o->brief = true;
}

static const struct choice {
	const char *name, *value;
	bool (*set)(struct diff_options *o, char *text);
	const char *about;
} choices[] = {
	{"tolerance", "[PATTERN=]T", set_tolerance,
	 "how far values may be apart: 0.5, 5%, or both as 0.5,5% (either is enough); of all counters, or of\n"
	 "                            those like PATTERN, as in 'posix.*_time=10%'; may be repeated, the last one "
	 "counts"},
	{"ignore", "PATTERN", set_ignore, "counters that do not matter; may be repeated"},
	{"ignore-times", NULL, set_times, "nothing that depends on how fast a run was: seconds, ranks, heat maps"},
	{"map", "REGEX=TEXT", set_map, "in file names, before they are compared; \\1 is a group; may be repeated"},
	{"numbers", NULL, set_numbers, "file names that differ in numbers alone are the same: out.0007, out.0008"},
	{"module", "NAME,...", set_modules, "only these modules"},
	{"name", "GLOB", set_glob, "only files whose path matches, as in '*.h5'"},
	{"regex", "REGEX", set_regex, "only files whose path matches an extended regular expression"},
	{"rank", "LIST", set_ranks, "only these ranks, as in 0,4-7; \"shared\" = records of all ranks"},
	{"job", NULL, set_job, "compare user, job id, start and end, too"},
	{"brief", NULL, set_brief, "sums for each module alone"},
	{"json", NULL, set_json, "all of it as JSON"},
};

enum { CHOICES = sizeof choices / sizeof *choices, HELP = CHOICES };

static void print_help(void)
{
	puts("usage: iolens diff [OPTION...] A B\n\n"
	     "Compares two logs: command, number of processes, run time, and every counter of every record. Records\n"
	     "belong together that have the same file name and rank.\n");
	for (int i = 0; i < CHOICES; i++) {
		char option[40];
		snprintf(option, sizeof option, "%s %s", choices[i].name, choices[i].value ? choices[i].value : "");
		printf("  --%-23s %s\n", option, choices[i].about);
	}
	puts("  --help                    this text\n\n"
	     "Exit codes: 0 no difference, 1 differences, 2 wrong usage, 3 unreadable, 4 a module could not be "
	     "compared.");
}

/* Returns the place of A in argv, or -1 with *code set. */
static int parse(int argc, char **argv, struct diff_options *o, int *code)
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
			*code = cli_fail(CLI_USAGE, "diff: %s: see iolens diff --help", argv[optind - 1]);
		else if (choices[got].set(o, optarg))
			continue;
		else
			*code = cli_fail(CLI_USAGE, "diff: --%s %s: expected %s: see iolens diff --help",
					 choices[got].name, optarg, choices[got].value);
		return -1;
	}
	if (optind == argc - 2)
		return optind;
	*code = cli_fail(CLI_USAGE, "diff: give two logs: see iolens diff --help");
	return -1;
}

int diff_main(int argc, char **argv)
{
	static struct diff_options o;
	int code, at = parse(argc, argv, &o, &code);
	if (at >= 0)
		code = diff_logs(&o, argv + at);
	filter_close(&o.filter);
	for (size_t i = 0; i < o.nmaps; i++)
		regfree(&o.maps[i].regex);
	return code;
}
