/* iolens config: the settings that a program would run with, as the library itself sees them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "preload.h"

static const char help[] =
	"usage: iolens config [FILE]\n"
	"\n"
	"Prints every setting, its value, and where it came from: default, file and line, or environment variable.\n"
	"FILE is used instead of $IOLENS_CONFIG_PATH. Settings that are wrong are listed at the end;\n"
	"they never stop a program, but they change nothing. Exit code 1 when there are any.\n";

/* A name that the loader would take apart becomes that of a descriptor. */
static void name_library(const char *library)
{
	char name[32];
	if (!preload_loadable(library)) {
		snprintf(name, sizeof name, "/proc/self/fd/%d", open(library, O_RDONLY));
		library = name;
	}
	setenv("LD_PRELOAD", library, 1);
}

static void become_witness(const char *library, const char *file, int out)
{
	static char *const argv[] = {"true", NULL};
	name_library(library);
	setenv("IOLENS_DUMP_CONFIG", "", 1);
	unsetenv("IOLENS_SESSION");
	unsetenv("IOLENS_ENABLE_NONMPI");
	unsetenv("DARSHAN_ENABLE_NONMPI");
	if (file)
		setenv("IOLENS_CONFIG_PATH", file, 1);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], argv);
	_exit(127);
}

/* Copies what the library prints; returns whether it warned. */
static int copy_lines(FILE *in)
{
	char line[1024];
	int warned = 0;
	while (fgets(line, sizeof line, in)) {
		warned |= strncmp(line, "warning: ", 9) == 0;
		if (strncmp(line, "SESSION", 7) != 0 && strncmp(line, "EPOCH", 5) != 0 &&
		    strncmp(line, "DUMP_CONFIG", 11) != 0)
			fputs(line, stdout);
	}
	return warned;
}

static int show_settings(const char *file)
{
	char library[4096];
	int ends[2], status;
	if (!preload_find(library, sizeof library))
		return cli_fail(CLI_INPUT,
				"libiolens.so not found beside this program: set IOLENS_PRELOAD to its path");
	if (pipe(ends) != 0)
		return cli_fail(CLI_INPUT, "config: %s", strerror(errno));
	pid_t child = fork();
	if (child == 0)
		become_witness(library, file, ends[1]);
	close(ends[1]);
	FILE *in = fdopen(ends[0], "r");
	int warned = in ? copy_lines(in) : 0;
	if (in)
		fclose(in);
	waitpid(child, &status, 0);
	return warned ? CLI_FINDINGS : CLI_OK;
}

int config_main(int argc, char **argv)
{
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(help, stdout);
		return CLI_OK;
	}
	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		return cli_fail(CLI_USAGE, "config: unexpected \"%s\": see iolens config --help", argv[argc - 1]);
	if (argc == 2 && access(argv[1], R_OK) != 0)
		return cli_fail(CLI_INPUT, "%s: cannot be read: %s", argv[1], strerror(errno));
	return show_settings(argc == 2 ? argv[1] : NULL);
}
