#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "cli.h"
#include "diff.h"
#include "nearest.h"

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

static const char *field_name(const struct schema_field *f, size_t *i)
{
	size_t names = f->nlabels ? (size_t)f->nlabels : 1;
	if (*i < names)
		return f->nlabels ? f->labels[*i].name : f->name;
	*i -= names;
	return NULL;
}

/* All counters twice: as posix.bytes_read, and as bytes_read. */
static const char *counter_name(const void *unused, size_t i)
{
	static char whole[128];
	for (int bare = 0; bare < 2; bare++)
		for (int m = 0; m < LOG_MOD_COUNT; m++) {
			const struct schema_module *s = &schema_modules[m];
			for (uint32_t k = 0; s->key && k < s->nfields; k++) {
				const char *name = field_name(&s->fields[k], &i);
				if (!name)
					continue;
				snprintf(whole, sizeof whole, "%s%s%s", bare ? "" : s->key, bare ? "" : ".", name);
				return whole;
			}
		}
	return NULL;
}

enum { SURE = 8, CLOSE = 2 };

/* Not far from a counter, and none itself: there are names of few letters, of elements and of the job, beside them. */
static bool mistyped(const char *pattern)
{
	bool exact = false, close = false;
	const char *name;
	if (strlen(pattern) < SURE || strpbrk(pattern, "*?[\\") || !strncmp(pattern, "job.", 4))
		return false;
	for (size_t i = 0; !exact && (name = counter_name(NULL, i)); i++) {
		int distance = nearest_distance(pattern, name, CLOSE);
		exact = distance == 0;
		close = close || distance <= CLOSE;
	}
	return close && !exact;
}

static bool add_rule(struct diff_options *o, const char *pattern, struct diff_tolerance t)
{
	if (o->nrules == DIFF_RULES || mistyped(pattern))
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
	 .about = "how far apart values may be: 0.5, 5%, or both as 0.5,5% (either is enough); for all counters, or "
		  "for\n"
		  "those that match PATTERN, as in 'posix.*_time=10%'; may be repeated, the last one counts",
	 .expect = "0.5, 5%, or PATTERN=5%", .word = counter_name},
	{"ignore", "PATTERN", set_ignore, .about = "counters to ignore; may be repeated", .word = counter_name},
	{"ignore-times", NULL, choice_flag,
	 "ignore everything that depends on how fast a run was: seconds, ranks, heat maps",
	 .at = offsetof(struct diff_options, ignore_times)},
	{"map", "REGEX=TEXT", set_map,
	 .about = "replace in file names before comparing them; \\1 is a group; may be repeated"},
	{"numbers", NULL, choice_flag, "treat file names that differ only in numbers as the same: out.0007, out.0008",
	 .at = offsetof(struct diff_options, numbers)},
	FILTER_MODULE_CHOICE(offsetof(struct diff_options, filter)),
	FILTER_CHOICES(offsetof(struct diff_options, filter)),
	{"job", NULL, choice_flag, "compare user, job id, start and end, too",
	 .at = offsetof(struct diff_options, whole_job)},
	{"brief", NULL, choice_flag, "only sums for each module", .at = offsetof(struct diff_options, brief)},
	{"json", NULL, choice_flag, "all of it as JSON", .at = offsetof(struct diff_options, json)},
};

const struct choices diff_choices = {
	.command = "diff",
	.before = "diff [OPTION...] A B\n"
		  "\n"
		  "Compares two logs: command, number of processes, run time, and every counter of every record. "
		  "Records with\n"
		  "the same file name and rank are compared with each other.\n",
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
	return choices_parse(&diff_choices, argc, argv, o, code);
}

void diff_options_close(struct diff_options *o)
{
	filter_close(&o->filter);
	for (size_t i = 0; i < o->nmaps; i++)
		regfree(&o->maps[i].regex);
}
