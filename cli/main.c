#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "log.h"

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *about;
	bool reads_logs; /* in this process */
} commands[] = {
	{"run", run_main, "run a command and write one log of what its process tree reads and writes", false},
	{"recover", recover_main, "make the log of a job from the stores that its processes left", false},
	{"files", files_main, "a table of a log's files: size, bytes moved, time, operations, seeks, re-reading", true},
	{"show", show_main, "print a log's counters, line by line, as darshan-parser does", true},
	{"trace", trace_main, "print every access that a log has traced, as darshan-dxt-parser does", true},
	{"check", check_main, "does a log hold to the format, and if not, what is wrong where", true},
	{"convert", convert_main, "write a log again: newest format, in part, annotated, anonymized", true},
	{"merge", merge_main, "several logs as one: of processes, nodes, steps, or different jobs", true},
	{"diff", diff_main, "what differs between two logs, with tolerances", true},
	{"config", config_main, "the settings that a program would run with, and where each came from", false},
	{"info", info_main, "one page about a log: job, modules, sizes", true},
	/* Written in Python: python/iolens/cli has a file of this name for each. */
	{"compare", python_main, "what differs between runs, by how much, and which files it is from", false},
	{"explain", python_main, "what a metric is: definition, unit, source, caveats", false},
	{"export", python_main, "a log for other programs: Parquet, CSV, JSON, Perfetto, OpenMetrics", false},
	{"findings", python_main, "what costs time, and what to change; with exit codes for automatic checks", false},
	{"report", python_main, "one page about a job, opens in any browser: is I/O a problem, why, what to change",
	 false},
	{"sql", python_main, "ask one or more logs in SQL", false},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
	fputs("usage: iolens COMMAND [OPTION...]\n\n", out);
	for (int i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].about);
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
	log_enable_accesses();
	if (command && command->reads_logs && cli_limit_memory(argc, argv))
		return CLI_USAGE;
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
