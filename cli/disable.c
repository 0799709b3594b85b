/* iolens disable, iolens enable: whether a user's programs are observed where a site preloads the library. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "logname.h"
#include "shown.h"

static const struct choices disable_choices = {
	.command = "disable",
	.before = "disable\n"
		  "\n"
		  "From now on your programs are observed only under iolens run, on every machine with this home "
		  "directory.\n"
		  "Running programs are not affected. iolens enable undoes it.\n",
	.arguments = "",
};

static const struct choices enable_choices = {
	.command = "enable",
	.before = "enable\n"
		  "\n"
		  "Undoes iolens disable: your programs are observed again where the site does so.\n",
	.arguments = "",
};

static bool find_path(char path[PATH_MAX])
{
	return logname_opt_out(getenv("XDG_CONFIG_HOME"), getenv("HOME"), path, PATH_MAX);
}

/* Makes the folders that the file is in; what is wrong with them, making the file tells. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

static int parse(const struct choices *choices, int argc, char **argv, char path[PATH_MAX])
{
	int code, at = choices_parse(choices, argc, argv, NULL, &code);
	if (at < 0)
		return code;
	if (at < argc)
		return cli_fail(CLI_USAGE, "%s: unexpected argument \"%s\"", choices->command, argv[at]);
	if (!find_path(path))
		return cli_fail(CLI_INPUT, "%s: neither HOME nor XDG_CONFIG_HOME names a directory: set HOME",
				choices->command);
	return -1;
}

static int disable_main(int argc, char **argv)
{
	char path[PATH_MAX];
	int code = parse(&disable_choices, argc, argv, path);
	if (code >= 0)
		return code;
	make_folders(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return cli_fail(CLI_INPUT, "disable: %s: %s: set IOLENS_DISABLE=1 instead", path, strerror(errno));
	close(fd);
	shown_line(stdout, "disabled by %s: iolens enable undoes it", path);
	return CLI_OK;
}

static int enable_main(int argc, char **argv)
{
	char path[PATH_MAX];
	int code = parse(&enable_choices, argc, argv, path);
	if (code >= 0)
		return code;
	if (unlink(path) != 0 && errno != ENOENT)
		return cli_fail(CLI_INPUT, "enable: %s: %s", path, strerror(errno));
	puts("enabled");
	return CLI_OK;
}

const struct command disable_command = {
	.name = "disable",
	.main = disable_main,
	.group = GROUP_OBSERVE,
	.place = 50,
	.about = "stop the site's observation of your programs",
	.choices = &disable_choices,
};

const struct command enable_command = {
	.name = "enable",
	.main = enable_main,
	.group = GROUP_OBSERVE,
	.place = 60,
	.about = "undo iolens disable",
	.choices = &enable_choices,
};
