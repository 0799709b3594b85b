/*
 * The native command line: one file per command, which defines a struct command. A command gets its own name as argv[0]
 * and returns an exit code.
 */
#ifndef IOLENS_CLI_H
#define IOLENS_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_FINDINGS = 1, /* findings or differences, when asked to fail on them */
	CLI_USAGE = 2,
	CLI_INPUT = 3,   /* unreadable input, or output that cannot be written */
	CLI_PARTIAL = 4, /* what there was has been shown, and some is missing */
};

/* Says on standard error which IOLENS_ variables have no effect; nothing where there are none. */
void config_warn(void);
/* Hands over to the command of this name in python/iolens/cli. */
int python_main(int argc, char **argv);

struct choices;

enum command_group { GROUP_OBSERVE, GROUP_LOOK, GROUP_EXPLAIN, GROUP_TRANSFORM, GROUP_MAINTAIN, GROUP_COUNT };

/* What a command's file says of it, as NAME_command: tools/commands.py finds it there. */
struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	enum command_group group;
	int place; /* in its group: by number, then by name */
	const char *about;
	const struct choices *choices; /* NULL: it is written in Python and has its own */
	bool reads_logs;
};

/* All of them, as iolens --help lists them: made by the build. */
extern const struct command *const commands[];
extern const size_t command_count;

/* Is a log among the arguments named by a lake, as in lake:4711? Then lake_main runs the command. */
bool lake_asked(int argc, char **argv);
int lake_main(int argc, char **argv);

/* Tells completion of all commands, before it runs. */
void completion_know(const struct command *const *commands, size_t n);

/*
 * From now on memory runs out at 1 GiB (or what IOLENS_MEMORY says) and 32 bytes for each byte of the files among the
 * arguments. Returns an exit code.
 */
int cli_limit_memory(int argc, char **argv);

/* Prints "iolens: <text>" on standard error, one line, and returns code. */
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line for an error of the log library: what is wrong with the file, where, and what to do. */
void cli_log_error(const char *path, const struct log_error *err);

/* The same error, with the part of the log that it is in. */
struct log_error cli_error_in(const char *part, const struct log_error *err);

#endif
