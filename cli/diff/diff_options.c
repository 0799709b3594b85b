#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
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
static bool set_tolerance(void *target, const struct choice *c, char *text)
{
	struct diff_options *o = target;
	struct diff_tolerance t = {0};
	char *equals = strrchr(text, '=');
	if (!equals)
		return parse_tolerance(text, &o->tolerance);
	*equals = '\0';
	return *text && parse_tolerance(equals + 1, &t) && add_rule(o, text, t);
}

static bool set_ignore(void *target, const struct choice *c, char *text)
{
	struct diff_options *o = target;
	return *text && add_rule(o, text, (struct diff_tolerance){.ignore = true});
}

static bool set_map(void *target, const struct choice *c, char *text)
{
	struct diff_options *o = target;
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

static const struct choice table[] = {
	{"tolerance", "[PATTERN=]T", set_tolerance,
	 .about = "how far values may be apart: 0.5, 5%, or both as 0.5,5% (either is enough); of all counters, or of\n"
		  "those like PATTERN, as in 'posix.*_time=10%'; may be repeated, the last one counts"},
	{"ignore", "PATTERN", set_ignore, .about = "counters that do not matter; may be repeated"},
	{"ignore-times", NULL, choice_flag, "nothing that depends on how fast a run was: seconds, ranks, heat maps",
	 .at = offsetof(struct diff_options, ignore_times)},
	{"map", "REGEX=TEXT", set_map,
	 .about = "in file names, before they are compared; \\1 is a group; may be repeated"},
	{"numbers", NULL, choice_flag, "file names that differ in numbers alone are the same: out.0007, out.0008",
	 .at = offsetof(struct diff_options, numbers)},
	FILTER_MODULE_CHOICE(offsetof(struct diff_options, filter)),
	FILTER_CHOICES(offsetof(struct diff_options, filter)),
	{"job", NULL, choice_flag, "compare user, job id, start and end, too",
	 .at = offsetof(struct diff_options, whole_job)},
	{"brief", NULL, choice_flag, "sums for each module alone", .at = offsetof(struct diff_options, brief)},
	{"json", NULL, choice_flag, "all of it as JSON", .at = offsetof(struct diff_options, json)},
};

static const struct choices choices = {
	.command = "diff",
	.before = "diff [OPTION...] A B\n\n"
		  "Compares two logs: command, number of processes, run time, and every counter of every record. "
		  "Records\n"
		  "belong together that have the same file name and rank.\n",
	.after = "Exit codes: 0 no difference, 1 differences, 2 wrong usage, 3 unreadable, 4 a module could not be "
		 "compared.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 2,
	.most = 2,
	.wanted = "give two logs",
};

int diff_parse(int argc, char **argv, struct diff_options *o, int *code)
{
	return choices_parse(&choices, argc, argv, o, code);
}

void diff_options_close(struct diff_options *o)
{
	filter_close(&o->filter);
	for (size_t i = 0; i < o->nmaps; i++)
		regfree(&o->maps[i].regex);
}
