/* iolens completion: a script that has a shell complete commands and options. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "nearest.h"
#include "offers.h"

static const struct choices completion_choices = {
	.command = "completion",
	.before = "completion bash|zsh|fish\n\n"
		  "Prints a script that completes commands, options and their values. Where it goes:\n\n"
		  "  bash  iolens completion bash > ~/.local/share/bash-completion/completions/iolens\n"
		  "        (without the package bash-completion: into any file that ~/.bashrc sources)\n"
		  "  zsh   iolens completion zsh > ~/.zfunc/_iolens\n"
		  "        (with fpath+=~/.zfunc before compinit in ~/.zshrc)\n"
		  "  fish  iolens completion fish > ~/.config/fish/completions/iolens.fish\n",
	.least = 1,
	.most = 1,
	.arguments = "bash|zsh|fish",
	.wanted = "give one shell: bash, zsh or fish",
};

static const char *shell_name(const void *unused, size_t i)
{
	return i < SHELLS ? shells[i].name : NULL;
}

static void become_python(int out)
{
	char *argv[] = {"--options", NULL};
	int null = open("/dev/null", O_WRONLY);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	_exit(python_main(1, argv));
}

/* The commands in Python know their options; false: they cannot be asked. */
static bool add_python(struct offers *o)
{
	char line[512];
	int ends[2], status = -1;
	if (pipe(ends) != 0)
		return false;
	pid_t child = fork();
	if (child == 0)
		become_python(ends[1]);
	close(ends[1]);
	FILE *in = fdopen(ends[0], "r");
	while (in && fgets(line, sizeof line, in))
		offers_add_line(o, line);
	if (in)
		fclose(in);
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static struct offers offers;

void completion_know(const struct command *const *commands, size_t n)
{
	offers.commands = commands;
	offers.ncommands = n;
}

static int completion_main(int argc, char **argv)
{
	char hint[NEAREST_HINT];
	int s = 0, code, at = choices_parse(&completion_choices, argc, argv, NULL, &code);
	if (at < 0)
		return code;
	while (s < SHELLS && strcmp(shells[s].name, argv[at]))
		s++;
	if (s == SHELLS)
		return cli_fail(CLI_USAGE, "completion: unknown shell \"%s\": %s", argv[at],
				nearest_hint(hint, argv[at], shell_name, NULL, completion_choices.wanted));
	offers_add_native(&offers);
	bool whole = add_python(&offers);
	shells[s].write(stdout, &offers);
	if (fflush(stdout))
		return cli_fail(CLI_INPUT, "completion: cannot write the script");
	return whole ? CLI_OK
		     : cli_fail(CLI_PARTIAL, "completion: commands in Python do not start here: the script has their "
					     "names without options");
}

const struct command completion_command = {
	.name = "completion",
	.main = completion_main,
	.group = GROUP_MAINTAIN,
	.place = 40,
	.about = "print completion scripts for bash, zsh and fish",
	.choices = &completion_choices,
};
