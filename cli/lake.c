/* Logs named by a lake: `lake:4711`. Python finds them, also in archives, and runs the command on what it found. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* A file of that name is a file. */
static bool names_row(const char *argument)
{
	return !strncmp(argument, "lake:", 5) && access(argument, F_OK);
}

bool lake_asked(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (names_row(argv[i]))
			return true;
	return false;
}

int lake_main(int argc, char **argv)
{
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	char **args = calloc((size_t)argc + 3, sizeof *args);
	if (n < 0 || !args) {
		free(args);
		return cli_fail(CLI_INPUT, "%s: cannot open the lake: not enough memory, or /proc is not mounted",
				argv[0]);
	}
	program[n] = '\0';
	args[0] = "lake-logs";
	args[1] = program;
	memcpy(args + 2, argv, (size_t)argc * sizeof *argv);
	int code = python_main(argc + 2, args);
	free(args);
	return code;
}
