#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "log.h"

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *about;
} commands[] = {
	{"run", run_main, "run a command and write one log of what its process tree reads and writes"},
	{"recover", recover_main, "make the log of a job from the stores that its processes left"},
	{"files", files_main, "a table of a log's files: size, bytes moved, time, operations, seeks, re-reading"},
	{"show", show_main, "print a log's counters, line by line, as darshan-parser does"},
	{"trace", trace_main, "print every access that a log has traced, as darshan-dxt-parser does"},
	{"check", check_main, "does a log hold to the format, and if not, what is wrong where"},
	{"convert", convert_main, "write a log again: newest format, in part, annotated, anonymized"},
	{"merge", merge_main, "several logs as one: of processes, nodes, steps, or different jobs"},
	{"diff", diff_main, "what differs between two logs, with tolerances"},
	{"config", config_main, "the settings that a program would run with, and where each came from"},
	{"info", info_main, "one page about a log: job, modules, sizes"},
	/* Written in Python: python/iolens/cli has a file of this name for each. */
	{"compare", python_main, "what differs between runs, by how much, and which files it is from"},
	{"explain", python_main, "what a metric is: definition, unit, source, caveats"},
	{"export", python_main, "a log for other programs: Parquet, CSV, JSON, Perfetto, OpenMetrics"},
	{"findings", python_main, "what costs time, and what to change; with exit codes for automatic checks"},
	{"report", python_main, "one page about a job, opens in any browser: is I/O a problem, why, what to change"},
	{"sql", python_main, "ask one or more logs in SQL"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
	fputs("usage: iolens COMMAND [OPTION...]\n\n", out);
	for (int i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].about);
	fputs("\niolens COMMAND --help tells more; iolens --version prints the version.\n", out);
}

static const struct command *find_command(const char *name)
{
	for (int i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *command = find_command(name);
#ifdef HAVE_BZIP2
	log_enable_bzip2();
#endif
	log_enable_old();
	if (command)
		return command->main(argc - 1, argv + 1);
	if (!strcmp(name, "--version")) {
		puts("iolens " IOLENS_VERSION);
		return CLI_OK;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		print_help(stdout);
		return CLI_OK;
	}
	if (*name)
		return cli_fail(CLI_USAGE, "no command \"%s\": see iolens --help", name);
	print_help(stderr);
	return CLI_USAGE;
}

int cli_fail(int code, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	fputs("iolens: ", stderr);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	return code;
}

static const char *advice(const struct log_error *err)
{
	switch ((enum log_code)err->code) {
	case LOG_E_IO:
		return strerror(err->system);
	case LOG_E_NOT_LOG:
		return "give the path of a .darshan log";
	case LOG_E_UNFINISHED:
		return "use the log that the job leaves when it ends";
	case LOG_E_OLD:
		return "unpack it first";
	case LOG_E_VERSION:
		return "a newer iolens may read it";
	case LOG_E_TRUNCATED:
		return "the copy is incomplete, get the whole file";
	case LOG_E_DAMAGED:
		return "compare it with the original file";
	case LOG_E_UNSUPPORTED:
		return "a newer iolens may read it";
	case LOG_E_MEMORY:
		return "use a machine with more memory";
	default:
		return "please report this";
	}
}

void cli_log_error(const char *path, const struct log_error *err)
{
	if (err->offset == LOG_NOWHERE)
		cli_fail(0, "%s: %s: %s", path, err->message, advice(err));
	else
		cli_fail(0, "%s: %s at byte %llu: %s", path, err->message, (unsigned long long)err->offset,
			 advice(err));
}
