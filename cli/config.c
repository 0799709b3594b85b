/* iolens config: the settings that a program would run with, as the library itself sees them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "link_flags.h"
#include "nearest.h"
#include "preload.h"
#include "shown.h"
#include "witness.h"

struct options {
	bool linked, shared, package;
};

static const struct choice table[] = {
	{"static-ldflags", NULL, choice_flag,
	 "instead: linker options for iolens in a static program; the arguments are its static\n"
	 "libraries of MPI, HDF5 and PnetCDF",
	 offsetof(struct options, linked), 0, 0, false, NULL, NULL},
	{"pkg-config", NULL, choice_flag, "with --static-ldflags: as a file for pkg-config (NAME.pc)",
	 offsetof(struct options, package), 0, 0, false, NULL, NULL},
	{"dynamic-ldflags", NULL, choice_flag, "instead: linker options for libiolens.so in a dynamic program",
	 offsetof(struct options, shared), 0, 0, false, NULL, NULL},
};

static const struct choices config_choices = {
	.command = "config",
	.before = "config [FILE]\n"
		  "       iolens config --static-ldflags [--pkg-config] [ARCHIVE...]\n"
		  "       iolens config --dynamic-ldflags\n"
		  "\n"
		  "Prints every setting, its value, and its origin: default, file and line, or environment variable. "
		  "FILE replaces\n"
		  "$IOLENS_CONFIG_PATH. Invalid settings have no effect, never stop a program, and are listed at the "
		  "end.\n"
		  "Exit code 1 if there are any.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
};

enum { SETTINGS = 128, NAME = 32 };

static const char *setting_name(const void *names, size_t i)
{
	const char(*name)[NAME] = names;
	return *name[i] ? name[i] : NULL;
}

typedef void warn(const char *text);

static void print_warning(const char *text)
{
	shown_line(stdout, "warning: %s", text);
}

static void warn_after_run(const char *text)
{
	cli_fail(0, "run: %s", text);
}

/* "site.conf:3: TRACES : no such setting" */
static void warn_of_line(const char *line, const char (*names)[NAME], warn *told)
{
	char hint[NEAREST_HINT], name[NAME] = "", text[1280];
	const char *end = strstr(line, " : no such setting"), *from = end;
	while (from && from > line && from[-1] != ' ')
		from--;
	if (end)
		snprintf(name, sizeof name, "%.*s", (int)(end - from), from);
	const char *meant = nearest_hint(hint, name, setting_name, names, "");
	snprintf(text, sizeof text, "%.*s%s%s", (int)strcspn(line, "\n"), line, *meant ? ": " : "", meant);
	told(text);
}

/* Names after IOLENS_ that are no settings of a site: between the library and `iolens run`; of the commands. */
static const char *const internal[] = {"SESSION", "EPOCH", "DUMP_CONFIG", "KERNEL", NULL};
static const char *const of_commands[] = {"PRELOAD", "PYTHON", "PYTEST", "RULES", NULL};

static bool begins_with_one(const char *text, const char *const *names)
{
	while (*names && strncmp(text, *names, strlen(*names)) != 0)
		names++;
	return *names;
}

/* Variables that are near to a setting's name and not one; a program ignores them without a word. */
static int warn_of_variables(const char (*names)[NAME], warn *told)
{
	int warned = 0;
	for (char **e = environ; *e; e++) {
		char hint[NEAREST_HINT], name[NAME], text[256];
		if (strncmp(*e, "IOLENS_", 7) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(*e + 7, "="), *e + 7);
		bool known = begins_with_one(name, internal) || begins_with_one(name, of_commands);
		for (size_t i = 0; *names[i]; i++)
			known = known || !strcmp(name, names[i]);
		const char *meant = known ? "" : nearest_hint(hint, name, setting_name, names, "");
		if (!*meant)
			continue;
		snprintf(text, sizeof text, "environment IOLENS_%s : no such setting: %s", name, meant);
		told(text);
		warned = 1;
	}
	return warned;
}

/* Copies the settings that the library prints, unless out is NULL; returns whether it, or we, warned. */
static int copy_lines(FILE *in, FILE *out, warn *told)
{
	char line[1024], names[SETTINGS + 1][NAME] = {{0}};
	int warned = 0, n = 0;
	while (fgets(line, sizeof line, in)) {
		if (begins_with_one(line, internal))
			continue;
		if (strncmp(line, "warning: ", 9)) {
			if (n < SETTINGS)
				snprintf(names[n++], NAME, "%.*s", (int)strcspn(line, " "), line);
			if (out)
				shown_line(out, "%.*s", (int)strcspn(line, "\n"), line);
		} else {
			warn_of_line(line + 9, (const char(*)[NAME])names, told);
			warned = 1;
		}
	}
	return warned | warn_of_variables((const char(*)[NAME])names, told);
}

static int show_settings(const char *file)
{
	char library[4096];
	if (!preload_find(library, sizeof library))
		return cli_fail(CLI_INPUT,
				"libiolens.so is not in this program's installation: set IOLENS_PRELOAD to its path");
	struct witness w = {.library = library, .file = file};
	FILE *in = witness_start(&w);
	if (!in)
		return cli_fail(CLI_INPUT, "config: %s", strerror(errno));
	int warned = copy_lines(in, stdout, print_warning);
	witness_end(&w, in);
	return warned ? CLI_FINDINGS : CLI_OK;
}

static bool variable_given(void)
{
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "IOLENS_", 7) && !begins_with_one(*e + 7, internal) &&
		    !begins_with_one(*e + 7, of_commands))
			return true;
	return false;
}

void config_warn(void)
{
	char library[4096];
	if (!variable_given() || !preload_find(library, sizeof library))
		return;
	struct witness w = {.library = library};
	FILE *in = witness_start(&w);
	if (!in)
		return;
	copy_lines(in, NULL, warn_after_run);
	witness_end(&w, in);
}

static int config_main(int argc, char **argv)
{
	struct options o = {0};
	int code, at = choices_parse(&config_choices, argc, argv, &o, &code);
	if (at < 0)
		return code;
	if (o.package && !o.linked)
		return cli_fail(CLI_USAGE, "config: --pkg-config: with --static-ldflags alone");
	if (o.linked && !o.shared)
		return link_flags_static(argv + at, o.package);
	if (argc - at > (o.shared ? 0 : 1) || o.linked)
		return cli_fail(CLI_USAGE, "config: %s",
				o.linked   ? "--static-ldflags or --dynamic-ldflags, not both"
				: o.shared ? "--dynamic-ldflags takes no files"
					   : "give one file");
	if (o.shared)
		return link_flags_dynamic();
	if (argv[at] && access(argv[at], R_OK) != 0)
		return cli_fail(CLI_INPUT, "%s: cannot be read: %s", argv[at], strerror(errno));
	return show_settings(argv[at]);
}

const struct command config_command = {
	.name = "config",
	.main = config_main,
	.group = GROUP_OBSERVE,
	.place = 30,
	.about = "show the settings that a program would run with, and where each comes from",
	.choices = &config_choices,
};
