/* The commands that are written in Python: found beside this program, in the .venv of its clone, or by the PATH. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "preload.h"

/*
 * The first entry of sys.path is the working directory, whose files are not ours. The last one is for pip install --target, or
 * another Python than the one that installed. Where there is no package at all, the second word is the command that installs it.
 */
static const char start[] =
	"import sys\n"
	"parent, brings = sys.argv.pop(1), sys.argv.pop(1)\n"
	"sys.path[:] = [p for p in [*sys.path, parent] if p]\n"
	"try:\n"
	"    from iolens.cli import main\n"
	"except ImportError as e:\n"
	"    pip = f'{sys.executable} -m pip install --force-reinstall'\n"
	"    if sys.prefix == sys.base_prefix:\n"
	"        pip = f'{sys.executable} -m venv ENV && ENV/bin/pip install'\n"
	"    what = brings or f'{pip} iolens-" IOLENS_VERSION "-*.whl'\n"
	"    if e.name and e.name.split('.')[0] != 'iolens':\n"
	"        from iolens.extras import module_command\n"
	"        what = module_command(e.name)\n"
	"    print(f'iolens: {sys.argv[1]} needs its Python package, which is not complete here ({e}): {what}',\n"
	"          file=sys.stderr)\n"
	"    sys.exit(2)\n"
	"main()\n";

/* A file, by its path from the folder of this program. */
static bool from_program(const char *relative, char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *end = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
	size_t room = end ? size - (size_t)(end + 1 - path) : 0;
	return end && (size_t)snprintf(end + 1, room, "%s", relative) < room && access(path, F_OK) == 0;
}

/* The command that installs the package; "" where it is that of a wheel. Debian's package is known by where it puts commands. */
static const char *what_brings(const char *parent)
{
	static char command[PATH_MAX + 64];
	char script[PATH_MAX], whole[PATH_MAX];
	if (!strcmp(parent, "/usr/lib/iolens") && access("/usr/share/doc/iolens/copyright", F_OK) == 0)
		return "apt install iolens-analysis";
	/* of build/cli and .venv/bin of a clone */
	if (from_program("../../bootstrap", script, sizeof script) && realpath(script, whole))
		snprintf(command, sizeof command, "%s build", whole);
	return command;
}

/*
 * The interpreter that the package was installed with stands in the same folder as this program. A build folder has no package:
 * that of its clone is in .venv.
 */
static bool find_interpreter(const char *parent, char *path, size_t size)
{
	return from_program("python3", path, size) || (!*parent && from_program("../../bootstrap", path, size) &&
						       from_program("../../.venv/bin/iolens", path, size) &&
						       from_program("../../.venv/bin/python3", path, size));
}

/* Python takes an empty entry for the working directory, whose files are not ours. */
static void drop_empty_entries(void)
{
	const char *path = getenv("PYTHONPATH");
	char *kept = path ? calloc(1, strlen(path) + 2) : NULL, *to = kept;
	for (size_t n; kept && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (n && to != kept)
			*to++ = ':';
		memcpy(to, path, n);
		to += n;
	}
	if (kept && *kept)
		setenv("PYTHONPATH", kept, 1);
	else if (kept)
		unsetenv("PYTHONPATH");
	free(kept);
}

/* "python3.9", where the package is in the folder of that version: others may not have what it depends on. */
static const char *versioned(const char *parent, char *name, size_t room)
{
	const char *at = NULL;
	for (const char *next = parent; (next = strstr(next, "/python3.")); next++)
		at = next + 1;
	if (!at)
		return NULL;
	snprintf(name, room, "%.*s", (int)strcspn(at, "/"), at);
	return name;
}

int python_main(int argc, char **argv)
{
	char path[PATH_MAX], parent[PATH_MAX], name[64];
	const char *interpreter = getenv("IOLENS_PYTHON"), *first = NULL;
	char **args = calloc((size_t)argc + 6, sizeof *args);
	if (!args)
		return cli_fail(CLI_INPUT, "out of memory");
	if (!preload_package_parent(parent, sizeof parent))
		parent[0] = '\0';
	if (!interpreter || !*interpreter) {
		interpreter = find_interpreter(parent, path, sizeof path) ? path : "python3";
		first = interpreter == path ? NULL : versioned(parent, name, sizeof name);
	}
	args[1] = "-c";
	args[2] = (char *)start;
	args[3] = parent;
	args[4] = (char *)what_brings(parent);
	memcpy(args + 5, argv, (size_t)argc * sizeof *argv);
	drop_empty_entries();
	args[0] = (char *)first;
	if (first)
		execvp(first, args);
	args[0] = (char *)interpreter;
	execvp(interpreter, args);
	int error = errno;
	free(args);
	const char *brings = what_brings(parent);
	return cli_fail(CLI_USAGE,
			"%s needs Python: cannot run %s (%s): %s, or set IOLENS_PYTHON to an interpreter that has "
			"iolens",
			argv[0], interpreter, strerror(error), *brings ? brings : "install Python 3.9 or later");
}
