/* The commands that are written in Python: found beside this program, or by the PATH. */
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
 * another Python than the one that installed. Where there is no package at all, what brings it is the second word.
 */
static const char start[] =
	"import sys\n"
	"parent, brings = sys.argv.pop(1), sys.argv.pop(1)\n"
	"sys.path[:] = [p for p in [*sys.path, parent] if p]\n"
	"try:\n"
	"    from iolens.cli import main\n"
	"except ImportError as e:\n"
	"    other = e.name and e.name.split('.')[0] != 'iolens'\n"
	"    what = f'{sys.executable} -m pip install {e.name}' if other else brings\n"
	"    print(f'iolens: {sys.argv[1]} needs its Python package, which is not complete here ({e}): {what}',\n"
	"          file=sys.stderr)\n"
	"    sys.exit(2)\n"
	"main()\n";

/* Debian's package of the native commands, by where it puts them. */
static const char *what_brings(const char *parent)
{
	bool debian = !strcmp(parent, "/usr/lib/iolens") && access("/usr/share/doc/iolens/copyright", F_OK) == 0;
	return debian ? "apt install iolens-analysis" : "install iolens again, with pip or from its wheel";
}

/* The interpreter that the package was installed with stands in the same folder as this program. */
static int beside(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - sizeof "python3");
	char *end = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
	if (!end)
		return 0;
	memcpy(end + 1, "python3", sizeof "python3");
	return access(path, X_OK) == 0;
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
		interpreter = beside(path, sizeof path) ? path : "python3";
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
	return cli_fail(CLI_USAGE,
			"%s needs Python: cannot run %s (%s): %s, or set IOLENS_PYTHON to an interpreter that has "
			"iolens",
			argv[0], interpreter, strerror(error), what_brings(parent));
}
