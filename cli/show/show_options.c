#include <stddef.h>

#include "choices.h"
#include "cli.h"
#include "show.h"

static bool set_parts(void *target, const struct choice *c, char *unused)
{
	struct show *s = target;
	s->parts |= c->bits;
	return true;
}

static bool set_json(void *target, const struct choice *c, char *unused)
{
	struct show *s = target;
	s->form = SHOW_JSON;
	return true;
}

static bool set_csv(void *target, const struct choice *c, char *unused)
{
	struct show *s = target;
	s->form = SHOW_CSV;
	return true;
}

static const struct choice table[] = {
	{"base", NULL, set_parts, "every counter of every record, one per line (default)", .bits = SHOW_BASE},
	{"total", NULL, set_parts, "the sum over all records of each module", .bits = SHOW_TOTAL},
	{"file", NULL, set_parts, "number of files, bytes and highest offset by kind of file", .bits = SHOW_FILE},
	{"perf", NULL, set_parts, "I/O time and bandwidth", .bits = SHOW_PERF},
	{"all", NULL, set_parts, "all of the above, with --show-incomplete and --ext",
	 .bits = SHOW_BASE | SHOW_TOTAL | SHOW_FILE | SHOW_PERF | SHOW_EXT | SHOW_INCOMPLETE},
	{"show-incomplete", NULL, set_parts, "show modules with incomplete data, too", .bits = SHOW_INCOMPLETE},
	{"file-list", NULL, set_parts, "one line per file: processes, slowest and average time",
	 .bits = SHOW_FILE_LIST},
	{"file-list-detailed", NULL, set_parts, "the same with timestamps, opens and access sizes",
	 .bits = SHOW_FILE_LIST | SHOW_FILE_DETAIL},
	{"ext", NULL, set_parts, "the tables that iolens adds to a log, as comment lines", .bits = SHOW_EXT},
	{"json", NULL, set_json, .about = "all of it as one JSON object"},
	{"csv", NULL, set_csv, .about = "records as CSV, a table for each module"},
	{"out", "DIR", choice_text, "with --csv: write DIR/posix.csv, ... instead of standard output",
	 .at = offsetof(struct show, folder)},
	FILTER_MODULE_CHOICE(offsetof(struct show, filter)),
	FILTER_CHOICES(offsetof(struct show, filter)),
};

const struct choices show_choices = {
	.command = "show",
	.before = "show [OPTION...] LOG\n\n"
		  "Prints a log in the layout of darshan-parser. Lines that are not data begin with #.\n",
	.after = "In names, tabs, other control characters and bytes that are not UTF-8 are shown as \\t, \\n, \\xNN.\n"
		 "Exit codes: 0 ok, 2 wrong usage, 3 unreadable, 4 shown, but some data are missing.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.most = 1,
	.wanted = "give one log",
};

static int check(struct show *s)
{
	const unsigned records = SHOW_BASE | SHOW_INCOMPLETE;
	if (s->form == SHOW_CSV && s->parts & ~records)
		return cli_fail(CLI_USAGE, "show: --csv has records only; use --json for sums");
	if (s->folder && s->form != SHOW_CSV)
		return cli_fail(CLI_USAGE, "show: --out goes with --csv: see iolens show --help");
	if (!(s->parts & ~(unsigned)SHOW_INCOMPLETE))
		s->parts |= SHOW_BASE;
	return CLI_OK;
}

int show_parse(int argc, char **argv, struct show *s)
{
	int at = choices_parse(&show_choices, argc, argv, s, &s->exit);
	if (at >= 0)
		s->exit = check(s);
	return s->exit ? -1 : at;
}

bool show_wants(const struct show *s, const struct log_record *r)
{
	const struct filter *f = &s->filter;
	return filter_rank(f, r->rank) && ((!f->glob && !f->has_regex) || filter_name(f, log_name(s->log, r->id)));
}
