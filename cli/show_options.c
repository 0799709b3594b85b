#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "show.h"

static bool set_glob(struct show *s, const char *text)
{
	s->filter.glob = text;
	return true;
}

static bool set_regex(struct show *s, const char *text)
{
	return filter_set_regex(&s->filter, text);
}

static bool set_modules(struct show *s, const char *text)
{
	return filter_set_modules(&s->filter, text);
}

static bool set_ranks(struct show *s, const char *text)
{
	return filter_set_ranks(&s->filter, text);
}

static bool set_json(struct show *s, const char *unused)
{
	s->form = SHOW_JSON;
	return true;
}

static bool set_csv(struct show *s, const char *unused)
{
	s->form = SHOW_CSV;
	return true;
}

static bool set_folder(struct show *s, const char *text)
{
	s->folder = text;
	return *text;
}

static const struct choice {
	const char *name, *value;
	unsigned parts;
	bool (*set)(struct show *s, const char *text);
	const char *about;
} choices[] = {
	{"base", NULL, SHOW_BASE, NULL, "every counter of every record, one per line (default)"},
	{"total", NULL, SHOW_TOTAL, NULL, "all records of a module summed up"},
	{"file", NULL, SHOW_FILE, NULL, "number of files, bytes and highest offset by kind of file"},
	{"perf", NULL, SHOW_PERF, NULL, "I/O time and bandwidth"},
	{"all", NULL, SHOW_BASE | SHOW_TOTAL | SHOW_FILE | SHOW_PERF | SHOW_EXT | SHOW_INCOMPLETE, NULL,
	 "all of the above, with --show-incomplete and --ext"},
	{"show-incomplete", NULL, SHOW_INCOMPLETE, NULL, "show modules that lack data too"},
	{"file-list", NULL, SHOW_FILE_LIST, NULL, "one line per file: processes, slowest, average time"},
	{"file-list-detailed", NULL, SHOW_FILE_LIST | SHOW_FILE_DETAIL, NULL,
	 "the same with time stamps, opens and access sizes"},
	{"ext", NULL, SHOW_EXT, NULL, "the tables that iolens adds to a log, as comment lines"},
	{"json", NULL, 0, set_json, "all of it as one JSON object"},
	{"csv", NULL, 0, set_csv, "records as CSV, a table for each module"},
	{"out", "DIR", 0, set_folder, "with --csv: write DIR/posix.csv, ... instead of standard output"},
	{"module", "NAME,...", 0, set_modules, "only these modules, as in posix,stdio"},
	{"name", "GLOB", 0, set_glob, "only files whose path matches, as in '*.h5'"},
	{"regex", "REGEX", 0, set_regex, "only files whose path matches an extended regular expression"},
	{"rank", "LIST", 0, set_ranks, "only these ranks, as in 0,4-7; \"shared\" = records of all ranks"},
};

enum { CHOICES = sizeof choices / sizeof *choices, HELP = CHOICES, VERSION };

static void print_help(void)
{
	puts("usage: iolens show [OPTION...] LOG\n\n"
	     "Prints a log in the layout of darshan-parser. Lines that are no data begin with #.\n");
	for (int i = 0; i < CHOICES; i++) {
		char option[40];
		snprintf(option, sizeof option, "%s %s", choices[i].name, choices[i].value ? choices[i].value : "");
		printf("  --%-20s %s\n", option, choices[i].about);
	}
	puts("  --help                 this text\n\n"
	     "Tabs and other control characters in names are shown as \\t, \\n, \\xNN.\n"
	     "Exit codes: 0 ok, 2 wrong usage, 3 unreadable, 4 shown, but some data are missing.");
}

static bool take(struct show *s, const struct choice *c)
{
	s->parts |= c->parts;
	if (!c->set || c->set(s, optarg))
		return true;
	s->exit = cli_fail(CLI_USAGE, "show: --%s %s: expected %s: see iolens show --help", c->name, optarg, c->value);
	return false;
}

static int check(struct show *s)
{
	const unsigned records = SHOW_BASE | SHOW_INCOMPLETE;
	if (s->form == SHOW_CSV && s->parts & ~records)
		return cli_fail(CLI_USAGE, "show: --csv has records alone; take --json for sums");
	if (s->folder && s->form != SHOW_CSV)
		return cli_fail(CLI_USAGE, "show: --out goes with --csv: see iolens show --help");
	if (!(s->parts & ~(unsigned)SHOW_INCOMPLETE))
		s->parts |= SHOW_BASE;
	return CLI_OK;
}

/* Long options alone, shortened at will. */
int show_parse(int argc, char **argv, struct show *s)
{
	struct option options[CHOICES + 3] = {
		[HELP] = {"help", no_argument, NULL, HELP},
		[VERSION] = {"version", no_argument, NULL, VERSION},
	};
	for (int i = 0; i < CHOICES; i++)
		options[i] =
			(struct option){choices[i].name, choices[i].value ? required_argument : no_argument, NULL, i};
	opterr = 0;
	for (int got; (got = getopt_long(argc, argv, ":h", options, NULL)) >= 0;) {
		s->exit = CLI_OK;
		if (got < CHOICES) {
			if (!take(s, &choices[got]))
				return -1;
			continue;
		}
		if (got == HELP || got == 'h')
			print_help();
		else if (got == VERSION)
			puts("iolens show " IOLENS_VERSION);
		else
			s->exit = cli_fail(CLI_USAGE, "show: %s %s: see iolens show --help", argv[optind - 1],
					   got == ':' ? "wants a value" : "is no option");
		return -1;
	}
	s->exit = check(s);
	if (!s->exit && optind != argc - 1)
		s->exit = cli_fail(CLI_USAGE, "show: give one log: see iolens show --help");
	return s->exit ? -1 : optind;
}
