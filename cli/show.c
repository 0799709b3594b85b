#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "show.h"

static const struct choice {
	const char *name;
	unsigned parts;
	const char *about;
} choices[] = {
	{"base", SHOW_BASE, "every counter of every record, one per line (default)"},
	{"total", SHOW_TOTAL, "all records of a module summed up"},
	{"file", SHOW_FILE, "number of files, bytes and highest offset by kind of file"},
	{"perf", SHOW_PERF, "I/O time and bandwidth"},
	{"all", SHOW_BASE | SHOW_TOTAL | SHOW_FILE | SHOW_PERF | SHOW_EXT | SHOW_INCOMPLETE,
	 "all of the above, with --show-incomplete and --ext"},
	{"show-incomplete", SHOW_INCOMPLETE, "show modules that lack data too"},
	{"file-list", SHOW_FILE_LIST, "one line per file: processes, slowest, average time"},
	{"file-list-detailed", SHOW_FILE_LIST | SHOW_FILE_DETAIL, "the same with time stamps, opens and access sizes"},
	{"ext", SHOW_EXT, "the tables that iolens adds to a log, as comment lines"},
};

enum { CHOICES = sizeof choices / sizeof *choices, HELP = CHOICES, VERSION };

static void print_help(void)
{
	puts("usage: iolens show [OPTION...] LOG\n\n"
	     "Prints a log in the layout of darshan-parser. Lines that are no data begin with #.\n");
	for (int i = 0; i < CHOICES; i++)
		printf("  --%-20s %s\n", choices[i].name, choices[i].about);
	puts("  --help                 this text\n\n"
	     "Tabs and other control characters in names are shown as \\t, \\n, \\xNN.\n"
	     "Exit codes: 0 ok, 2 wrong usage, 3 unreadable, 4 shown, but some data are missing.");
}

/* Long options alone, shortened at will. Returns the log's place in argv, or -1 with *code set. */
static int parse(int argc, char **argv, unsigned *parts, int *code)
{
	struct option options[CHOICES + 3] = {
		[HELP] = {"help", no_argument, NULL, HELP},
		[VERSION] = {"version", no_argument, NULL, VERSION},
	};
	for (int i = 0; i < CHOICES; i++)
		options[i] = (struct option){choices[i].name, no_argument, NULL, i};
	opterr = 0;
	for (int got; (got = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
		*code = CLI_OK;
		if (got == HELP || got == 'h')
			print_help();
		else if (got == VERSION)
			puts("iolens show " IOLENS_VERSION);
		else if (got >= CHOICES)
			*code = cli_fail(CLI_USAGE, "show: %s is no option: see iolens show --help", argv[optind - 1]);
		if (got >= CHOICES)
			return -1;
		*parts |= choices[got].parts;
	}
	if (optind == argc - 1)
		return optind;
	*code = cli_fail(CLI_USAGE, "show: give one log: see iolens show --help");
	return -1;
}

void show_error(struct show *s, const char *where, const struct log_error *err)
{
	struct log_error placed = *err;
	output_flush(&s->out);
	snprintf(placed.message, sizeof placed.message, "%s: %.120s", where, err->message);
	cli_log_error(s->path, &placed);
	s->exit = CLI_PARTIAL;
}

static void show_banner(struct show *s, const char *name)
{
	static const char stars[] = "# *******************************************************\n";
	output_format(&s->out, "\n%s# %s module data\n%s", stars, name, stars);
}

bool show_partial(struct show *s, int module)
{
	const char *name = log_module_name(module);
	if (!(log_container(s->log)->partial >> module & 1))
		return true;
	output_format(&s->out, "\n# *WARNING*: The %s module contains incomplete data!\n", name);
	output_text(&s->out, "#            The program used more files than there was memory to record.\n");
	if (s->parts & SHOW_INCOMPLETE)
		return true;
	output_text(&s->out, "#            It is shown with --show-incomplete.\n");
	output_flush(&s->out);
	s->exit = cli_fail(CLI_PARTIAL, "%s: %s module is incomplete and left out: add --show-incomplete to see it",
			   s->path, name);
	return false;
}

static void show_records(struct show *s, struct log_records *records, const struct base_lines *b, struct sums *u)
{
	struct log_record r;
	struct log_error err;
	int code;
	while ((code = log_records_next(records, &r, &err)) > 0 && !s->out.error) {
		if (s->parts & SHOW_BASE)
			show_record(s, b, &r);
		if (!sums_add(u, &r)) {
			log_fail(&err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
			code = LOG_E_MEMORY;
			break;
		}
	}
	if (code < 0)
		show_error(s, u->module->name, &err);
}

/* What the region says of all its records: lines of their own. */
static void show_region_header(struct show *s, struct log_records *records)
{
	struct log_record header;
	struct base_lines b;
	if (log_records_header(records, &header, NULL) <= 0)
		return;
	if (base_open(&b, header.schema))
		show_record(s, &b, &header);
	base_close(&b);
}

static void show_body(struct show *s, int module, struct log_records *records, const struct base_lines *b,
		      struct sums *u)
{
	show_banner(s, log_module_name(module));
	if (!show_partial(s, module))
		return;
	if (s->parts & (SHOW_BASE | SHOW_TOTAL))
		show_description(s, u->module);
	if (s->parts & SHOW_BASE)
		output_text(&s->out, "\n#<module>\t<rank>\t<record id>\t<counter>\t<value>\t"
				     "<file name>\t<mount pt>\t<fs type>\n");
	if (s->parts & SHOW_BASE)
		show_region_header(s, records);
	show_records(s, records, b, u);
	show_sums(s, u);
}

static void show_decoded(struct show *s, int module, struct log_records *records)
{
	const struct schema_module *m = &schema_modules[module];
	struct base_lines b = {0};
	struct sums u;
	if (!sums_open(&u, m, s->parts) || !base_open(&b, m))
		s->exit = cli_fail(CLI_INPUT, "%s: not enough memory", s->path);
	else if (u.parts || s->parts & SHOW_BASE)
		show_body(s, module, records, &b, &u);
	base_close(&b);
	sums_close(&u);
}

static void show_module(struct show *s, int module)
{
	const struct log_container *c = log_container(s->log);
	struct log_records *records;
	struct log_error err;
	int code = log_records_open(&records, s->log, module, &err);
	if (code >= 0 && schema_modules[module].layout == LAYOUT_DXT)
		output_format(&s->out, "\n# iolens trace shows the %s module\n", log_module_name(module));
	else if (code >= 0)
		show_decoded(s, module, records);
	else if (code == LOG_E_UNSUPPORTED)
		output_format(&s->out, "\n# %s module, version %u: not decoded by this version of iolens\n",
			      log_module_name(module), c->module_version[module]);
	else
		show_error(s, log_module_name(module), &err);
	log_records_close(records);
}

static void show_modules(struct show *s)
{
	const struct log_container *c = log_container(s->log);
	bool any = false;
	for (int i = 0; i < LOG_MAX_MODULES && !s->out.error; i++) {
		if (!c->module[i].length && !(c->partial >> i & 1))
			continue;
		any |= c->module[i].length > 0;
		show_module(s, i);
	}
	if (!any)
		output_text(&s->out, "\n# no module data available.\n");
}

static void show_log(struct show *s)
{
	struct log_error err;
	if (log_job(s->log, &s->job, &err) < 0)
		show_error(s, "job", &err);
	if (log_old_version(s->log)) {
		show_old(s);
		return;
	}
	if (s->parts & (SHOW_BASE | SHOW_PER_FILE) && log_names(s->log, &err) < 0)
		show_error(s, "names", &err);
	show_header(s);
	show_modules(s);
	if (s->parts & SHOW_EXT)
		show_trailer(s);
}

int show_main(int argc, char **argv)
{
	struct show s = {0};
	struct log_error err;
	int at = parse(argc, argv, &s.parts, &s.exit);
	if (at < 0)
		return s.exit;
	if (!(s.parts & ~(unsigned)SHOW_INCOMPLETE))
		s.parts |= SHOW_BASE;
	s.path = argv[at];
	if (log_open_file(&s.log, s.path, &err) < 0) {
		cli_log_error(s.path, &err);
		return CLI_INPUT;
	}
	if (!output_open(&s.out, STDOUT_FILENO) || !output_open(&s.frame, -1))
		return cli_fail(CLI_INPUT, "not enough memory");
	show_log(&s);
	output_close(&s.frame);
	int failed = output_close(&s.out);
	log_close(s.log);
	return failed ? cli_fail(CLI_INPUT, "standard output: %s", strerror(failed)) : s.exit;
}
