#include <signal.h>
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
		for (size_t i = 0; i < command_count; i++)
			if ((int)commands[i]->group == g)
				fprintf(out, "  %-10s  %s\n", commands[i]->name, commands[i]->about);
	}
	fputs("\niolens COMMAND --help says more; iolens --version prints the version.\n", out);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static const char *command_name(const void *unused, size_t i)
{
	return i < command_count ? commands[i]->name : NULL;
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
	completion_know(commands, command_count);
	log_enable_old();
	log_enable_accesses();
	bundle_enable();
	if (command && command->reads_logs && lake_asked(argc - 1, argv + 1))
		return lake_main(argc - 1, argv + 1);
	if (command && command->reads_logs && command->choices && cli_limit_memory(argc, argv))
		return CLI_USAGE;
	if (command && command->reads_logs && command->choices)
		signal(SIGXFSZ, SIG_IGN); /* a file that may grow no more is an error like a full disk */
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
