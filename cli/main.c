#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bundle.h"
#include "cli.h"
#include "log.h"
#include "nearest.h"

static const char *const groups[GROUP_COUNT] = {
	[GROUP_OBSERVE] = "Observe programs", [GROUP_LOOK] = "Look at a log", [GROUP_EXPLAIN] = "Explain and compare",
	[GROUP_TRANSFORM] = "Transform logs", [GROUP_MAINTAIN] = "Maintain",
};

static const struct command commands[] = {
	{"run", run_main, GROUP_OBSERVE, "run a command and write one log of what its process tree reads and writes",
	 .choices = &run_choices},
	{"recover", recover_main, GROUP_OBSERVE, "make the log of a job from what its processes left behind",
	 .choices = &recover_choices},
	{"config", config_main, GROUP_OBSERVE,
	 "show the settings that a program would run with, and where each comes from", .choices = &config_choices},
	{"doctor", doctor_main, GROUP_OBSERVE, "whether observing works here, and why a job has left no log",
	 .choices = &doctor_choices},
	{"disable", disable_main, GROUP_OBSERVE, "observe none of your programs where the site does so",
	 .choices = &disable_choices},
	{"enable", enable_main, GROUP_OBSERVE, "undo iolens disable", .choices = &enable_choices},
	{"kernel", python_main, GROUP_OBSERVE, "install a notebook kernel that is observed", .choices = NULL},
	{"top", top_main, GROUP_OBSERVE, "what programs read and write right now, by job, file and process",
	 .choices = &top_choices},
	{"watch", watch_main, GROUP_OBSERVE, "which process waits in which call on which file: for jobs that hang",
	 .choices = &watch_choices},
	{"overhead", python_main, GROUP_OBSERVE, "what observing costs a program: it runs with and without, in turn",
	 .choices = NULL},
	{"peak", peak_main, GROUP_OBSERVE,
	 "measure what the storage of a directory can do, to compare a job's rates with", .choices = &peak_choices},
	{"info", info_main, GROUP_LOOK, "one page about a log: job, modules, sizes, verdict", .choices = &info_choices,
	 .reads_logs = true},
	{"files", files_main, GROUP_LOOK, "its files as a table: size, bytes moved, time, operations, re-reading",
	 .choices = &files_choices, .reads_logs = true},
	{"show", show_main, GROUP_LOOK, "its counters, line by line, as darshan-parser prints them",
	 .choices = &show_choices, .reads_logs = true},
	{"trace", trace_main, GROUP_LOOK, "its traced accesses, one by one, as darshan-dxt-parser prints them",
	 .choices = &trace_choices, .reads_logs = true},
	/* Without choices: written in Python, python/iolens/cli has a file of this name for each. */
	{"report", python_main, GROUP_EXPLAIN,
	 "one page for any browser: whether I/O is a problem, why, and what to change", .choices = NULL,
	 .python_reads_logs = true},
	{"findings", python_main, GROUP_EXPLAIN,
	 "what costs time, and what to change; with exit codes for automatic checks", .choices = NULL,
	 .python_reads_logs = true},
	{"compare", python_main, GROUP_EXPLAIN, "what differs between runs, by how much, and in which files",
	 .choices = NULL, .python_reads_logs = true},
	{"diff", diff_main, GROUP_EXPLAIN, "every counter that differs between two logs, with tolerances",
	 .choices = &diff_choices, .reads_logs = true},
	{"explain", python_main, GROUP_EXPLAIN, "what a metric or a rule is: definition, unit, source, caveats",
	 .choices = NULL},
	{"sql", python_main, GROUP_EXPLAIN, "query one or more logs in SQL", .choices = NULL,
	 .python_reads_logs = true},
	{"fleet", python_main, GROUP_EXPLAIN, "collect the logs of a machine in one lake, and query them together",
	 .choices = NULL},
	{"serve", python_main, GROUP_EXPLAIN, "a lake as pages in a browser, each viewer's own part of it",
	 .choices = NULL},
	{"mcp", python_main, GROUP_EXPLAIN, "a server for assistants: summary, findings, SQL", .choices = NULL},
	{"convert", convert_main, GROUP_TRANSFORM,
	 "rewrite a log: in the newest format, in part, annotated, anonymized", .choices = &convert_choices,
	 .reads_logs = true},
	{"merge", merge_main, GROUP_TRANSFORM, "combine several logs: of processes, nodes, steps, or different jobs",
	 .choices = &merge_choices, .reads_logs = true},
	{"export", python_main, GROUP_TRANSFORM,
	 "write logs for other programs: Parquet, CSV, JSON, Perfetto, OpenMetrics", .choices = NULL,
	 .python_reads_logs = true},
	{"check", check_main, GROUP_MAINTAIN,
	 "whether a log conforms to the format, and if not, what is wrong and where", .choices = &check_choices,
	 .reads_logs = true},
	{"collect", collect_main, GROUP_MAINTAIN, "move logs from where everybody may write to where only the site may",
	 .choices = &collect_choices},
	{"schema", python_main, GROUP_MAINTAIN, "the JSON Schema of what a command prints with --json",
	 .choices = NULL},
	{"completion", completion_main, GROUP_MAINTAIN, "print completion scripts for bash, zsh and fish",
	 .choices = &completion_choices},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static const char examples[] =
	"Examples:\n"
	"  iolens run -o job.darshan ./program         observe it: a summary follows at its end\n"
	"  iolens report --open job.darshan            where its I/O time goes, and what to change\n"
	"  iolens compare before.darshan job.darshan   is it faster now, and in which files?\n";

static void print_help(FILE *out)
{
	fputs("iolens shows what a program's I/O does: which files, how much, how fast, and what to change.\n\n"
	      "usage: iolens COMMAND [OPTION...]\n\n",
	      out);
	fputs(examples, out);
	for (int g = 0; g < GROUP_COUNT; g++) {
		fprintf(out, "\n%s:\n", groups[g]);
		for (size_t i = 0; i < COMMANDS; i++)
			if ((int)commands[i].group == g)
				fprintf(out, "  %-10s  %s\n", commands[i].name, commands[i].about);
	}
	fputs("\niolens COMMAND --help says more; iolens --version prints the version.\n", out);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static const char *command_name(const void *unused, size_t i)
{
	return i < COMMANDS ? commands[i].name : NULL;
}

static int fail_name(const char *name)
{
	char hint[NEAREST_HINT];
	if (*name == '-')
		return cli_fail(CLI_USAGE, "unknown option %s: see iolens --help", name);
	return cli_fail(CLI_USAGE, "unknown command \"%s\": %s", name,
			nearest_hint(hint, name, command_name, NULL, "see iolens --help"));
}

static bool asks_help(const char *name)
{
	return !strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *command = find_command(name);
	char *help_of[] = {argv[0], argc > 2 ? argv[2] : NULL, "--help", NULL};
	if (asks_help(name) && argc > 2 && (command = find_command(argv[2]))) {
		argv = help_of;
		argc = 3;
	}
#ifdef HAVE_BZIP2
	log_enable_bzip2();
#endif
#ifdef HAVE_LIBDEFLATE
	log_enable_smallest();
#endif
	completion_know(commands, COMMANDS);
	log_enable_old();
	log_enable_accesses();
	bundle_enable();
	if (command && (command->reads_logs || command->python_reads_logs) && lake_asked(argc - 1, argv + 1))
		return lake_main(argc - 1, argv + 1);
	if (command && command->reads_logs && cli_limit_memory(argc, argv))
		return CLI_USAGE;
	if (command)
		return command->main(argc - 1, argv + 1);
	if (!strcmp(name, "--version")) {
		puts("iolens " IOLENS_VERSION);
		return CLI_OK;
	}
	if (*name && !asks_help(name))
		return fail_name(name);
	print_help(*name ? stdout : stderr);
	return *name ? CLI_OK : CLI_USAGE;
}
