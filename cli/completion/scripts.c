/* The scripts. Each begins with what its shell calls a function, and has a part for each command. */
#include <string.h>

#include "choices.h"
#include "cli.h"
#include "offers.h"

static void write_words(FILE *out, const char *text, const char *escaped, const char *escape)
{
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fprintf(out, "%s%c", strchr(escaped, *text) ? escape : "", *text);
}

static bool takes_next(const struct offer *f)
{
	return *f->value && !f->optional;
}

static const char *arguments_of(const struct command *command)
{
	return command->choices ? command->choices->arguments : NULL;
}

static void write_arguments(FILE *out, const struct command *command)
{
	for (const char *c = arguments_of(command); *c; c++)
		fputc(*c == '|' ? ' ' : *c, out);
}

/* ---- bash ---- */

static void bash_options(FILE *out, const struct offers *o, const char *command)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct offer *f = &o->offer[i];
		if (strcmp(f->command, command))
			continue;
		fprintf(out, " --%s", f->name);
		if (f->optional && *f->words)
			fprintf(out, " --%s=%s", f->name, f->words);
		if (f->letter)
			fprintf(out, " -%c", f->letter);
	}
}

static void bash_taking(FILE *out, const struct offers *o, const char *command)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct offer *f = &o->offer[i];
		if (strcmp(f->command, command) || !takes_next(f))
			continue;
		fprintf(out, " --%s ", f->name);
		if (f->letter)
			fprintf(out, " -%c ", f->letter);
	}
}

static const char bash_start[] =
	"# Completion of iolens " IOLENS_VERSION " for bash, made by `iolens completion bash`.\n"
	"_iolens() {\n"
	"	local line=\"${COMP_LINE:0:COMP_POINT}\" command=\"${COMP_WORDS[1]}\" "
	"previous=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
	"	local current=\"${line##*[[:space:]]}\" commands options taking runs='' values='' i\n";

static const char bash_end[] =
	"	if [[ -n $runs ]]; then\n"
	"		for ((i = 2; i < COMP_CWORD; i++)); do\n"
	"			[[ $taking != *\" ${COMP_WORDS[i]} \"* ]] || { ((i++)); continue; }\n"
	"			[[ ${COMP_WORDS[i]} != -- ]] || { ((i++)); break; }\n"
	"			[[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]] || "
	"break\n"
	"		done\n"
	"		if ((i < COMP_CWORD)); then\n"
	"			if declare -F _command_offset >/dev/null; then _command_offset \"$i\"; else\n"
	"				mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); fi\n"
	"			return\n"
	"		elif ((i == COMP_CWORD)) && [[ $current != -* && $previous != = ]]; then\n"
	"			mapfile -t COMPREPLY < <(compgen -c -- \"$current\")\n"
	"			return\n"
	"		fi\n"
	"	fi\n"
	"	if [[ -n $values && ($current != -* || $COMP_CWORD == 1) ]]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n"
	"	elif [[ $current == -* ]]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
	"		[[ $current != *=* || $COMP_WORDBREAKS != *=* ]] || "
	"COMPREPLY=(\"${COMPREPLY[@]#\"${current%%=*}=\"}\")\n"
	"	else\n"
	"		mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
	"	fi\n"
	"}\n"
	"complete -o filenames -F _iolens iolens\n";

static void bash_values(FILE *out, const struct offers *o)
{
	fputs("	case \"$command $previous\" in\n", out);
	for (size_t i = 0; i < o->n; i++) {
		const struct offer *f = &o->offer[i];
		if (takes_next(f) && *f->words)
			fprintf(out, "	\"%s --%s\") values='%s' ;;\n", f->command, f->name, f->words);
	}
	for (size_t i = 0; i < o->ncommands; i++) {
		const struct command *command = o->commands[i];
		if (!arguments_of(command))
			continue;
		fprintf(out, "	\"%s %s\") values='", command->name, command->name);
		write_arguments(out, command);
		fputs("' ;;\n", out);
	}
	fputs("	esac\n", out);
}

static void write_bash(FILE *out, const struct offers *o)
{
	fputs(bash_start, out);
	fputs("	commands='", out);
	for (size_t i = 0; i < o->ncommands; i++)
		fprintf(out, "%s%s", i ? " " : "", o->commands[i]->name);
	fputs("'\n	case \"$command\" in\n", out);
	for (size_t i = 0; i < o->ncommands; i++) {
		const struct command *command = o->commands[i];
		fprintf(out, "	%s) options='", command->name);
		bash_options(out, o, command->name);
		fputs("' taking='", out);
		bash_taking(out, o, command->name);
		fprintf(out, "'%s ;;\n", command->choices && command->choices->runs_command ? " runs=1" : "");
	}
	fputs("	esac\n", out);
	bash_values(out, o);
	fputs("	if ((COMP_CWORD == 1)); then values=\"$commands\" runs=''; "
	      "[[ $current != -* ]] || values='--help --version'; fi\n",
	      out);
	fputs(bash_end, out);
}

/* ---- zsh ---- */

static void zsh_option(FILE *out, const struct offer *f)
{
	fputs(" \\\n			", out);
	if (f->letter)
		fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", f->letter, f->name, f->letter, takes_next(f) ? "+" : "",
			f->name, takes_next(f) ? "=" : "");
	else
		fprintf(out, "'*--%s%s[", f->name, f->optional ? "=-" : takes_next(f) ? "=" : "");
	write_words(out, f->about, "[]\\", "\\");
	fputs("]", out);
	if (*f->value) {
		fputs(f->optional ? "::" : ":", out);
		write_words(out, *f->words ? "value" : f->value, ":\\", "\\");
		if (*f->words)
			fprintf(out, ":(%s)", f->words);
		else
			fputs(f->optional ? ": " : ":_files", out);
	}
	fputs("'", out);
}

static void zsh_command(FILE *out, const struct offers *o, const struct command *command)
{
	fprintf(out, "	%s) _arguments -S", command->name);
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->offer[i].command, command->name))
			zsh_option(out, &o->offer[i]);
	if (arguments_of(command)) {
		fputs(" \\\n			'1:argument:(", out);
		write_arguments(out, command);
		fputs(")' ;;\n", out);
	} else if (command->choices && command->choices->runs_command)
		fputs(" \\\n			'(-)1:command:_command_names -e' '*::argument:_normal' ;;\n", out);
	else
		fputs(" \\\n			'*:file:_files' ;;\n", out);
}

static void write_zsh(FILE *out, const struct offers *o)
{
	fputs("#compdef iolens\n"
	      "# Completion of iolens " IOLENS_VERSION " for zsh, made by `iolens completion zsh`.\n"
	      "_iolens() {\n"
	      "	local -a commands\n"
	      "	commands=(\n",
	      out);
	for (size_t i = 0; i < o->ncommands; i++) {
		const struct command *command = o->commands[i];
		fprintf(out, "		'%s:", command->name);
		write_words(out, command->about, ":\\", "\\");
		fputs("'\n", out);
	}
	fputs("	)\n"
	      "	if ((CURRENT == 2)); then\n"
	      "		if [[ $PREFIX == -* ]]; then compadd -- --help --version; else _describe command commands; fi\n"
	      "		return\n"
	      "	fi\n"
	      "	shift words\n"
	      "	((CURRENT--))\n"
	      "	case $words[1] in\n",
	      out);
	for (size_t i = 0; i < o->ncommands; i++)
		zsh_command(out, o, o->commands[i]);
	fputs("	esac\n"
	      "}\n"
	      "if [[ $funcstack[1] == _iolens ]]; then _iolens \"$@\"; else compdef _iolens iolens; fi\n",
	      out);
}

/* ---- fish ---- */

static void fish_quoted(FILE *out, const char *text)
{
	fputs("'", out);
	for (; *text; text++)
		fprintf(out, "%s%c", strchr("'\\", *text) ? "\\" : "", *text);
	fputs("'", out);
}

static void fish_option(FILE *out, const struct offer *f)
{
	fprintf(out, "complete -c iolens -n '__iolens_is %s' -l %s", f->command, f->name);
	if (f->letter)
		fprintf(out, " -s %c", f->letter);
	if (takes_next(f))
		fputs(*f->words ? " -x" : " -r -F", out);
	if (*f->words)
		fprintf(out, " -a '%s'", f->words);
	fputs(" -d ", out);
	fish_quoted(out, f->about);
	fputs("\n", out);
}

static void fish_arguments(FILE *out, const struct command *command)
{
	fprintf(out, "complete -c iolens -n '__iolens_is %s' ", command->name);
	if (arguments_of(command)) {
		fputs("-a '", out);
		write_arguments(out, command);
		fputs("'\n", out);
	} else if (command->choices && command->choices->runs_command)
		fputs("-a '(__fish_complete_subcommand --fcs-skip=2)'\n", out);
	else
		fputs("-F\n", out);
}

static void write_fish(FILE *out, const struct offers *o)
{
	fputs("# Completion of iolens " IOLENS_VERSION " for fish, made by `iolens completion fish`.\n"
	      "function __iolens_is\n"
	      "	set -l words (commandline -opc)\n"
	      "	test (count $words) -ge 2; and contains -- $words[2] $argv\n"
	      "end\n"
	      "function __iolens_bare\n"
	      "	test (count (commandline -opc)) -eq 1\n"
	      "end\n"
	      "complete -c iolens -f\n"
	      "complete -c iolens -n __iolens_bare -l help -s h -d 'all commands'\n"
	      "complete -c iolens -n __iolens_bare -l version -d 'the version'\n",
	      out);
	for (size_t i = 0; i < o->ncommands; i++)
		fish_arguments(out, o->commands[i]);
	for (size_t i = 0; i < o->ncommands; i++) {
		const struct command *command = o->commands[i];
		fprintf(out, "complete -c iolens -n __iolens_bare -a %s -d ", command->name);
		fish_quoted(out, command->about);
		fputs("\n", out);
	}
	for (size_t i = 0; i < o->n; i++)
		fish_option(out, &o->offer[i]);
}

const struct shell shells[SHELLS] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
