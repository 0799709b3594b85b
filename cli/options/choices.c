#include "choices.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "nearest.h"
#include "platform.h"

/* getopt's answers: a row, below all letters; a letter; or this. */
enum { LARGEST = 31, ASKS_HELP = 256, OPTION_TEXT = 40 };

bool choice_flag(void *target, const struct choice *c, char *text)
{
	(void)text;
	return *(bool *)((char *)target + c->at) = true;
}

bool choice_text(void *target, const struct choice *c, char *text)
{
	*(const char **)((char *)target + c->at) = text;
	return *text && strcmp(text, "--");
}

bool choice_file(void *target, const struct choice *c, char *text)
{
	return choice_text(target, c, text) && strcmp(text, "-");
}

bool choice_job(void *target, const struct choice *c, char *text)
{
	int64_t *job = (int64_t *)((char *)target + c->at);
	size_t digits = strspn(text, "0123456789");
	*job = platform_job_number(text);
	return *job > 0 && (!digits || strchr(".[", text[digits])); /* strchr finds the end, too */
}

bool choice_has_words(const char *value)
{
	for (; value && *value; value++)
		if (*value >= 'a' && *value <= 'z')
			return true;
	return false;
}

/* "  -o, --output NEWLOG", "      --trace[=compact]", and how wide that is */
static int option_text(const struct choice *row, char text[OPTION_TEXT])
{
	char letter[] = "-?,";
	letter[1] = row->letter;
	return snprintf(text, OPTION_TEXT, "  %3s --%s%s%s%s", row->letter ? letter : "", row->name,
			!row->value     ? ""
			: row->optional ? "[="
					: " ",
			row->value ? row->value : "", row->optional ? "]" : "");
}

/* Lines after the first of an explanation stand below it. */
static void print_about(const char *about, int column)
{
	for (size_t n; n = strcspn(about, "\n"), about[n]; about += n + 1)
		printf("%.*s\n%*s", (int)n, about, column, "");
	puts(about);
}

static void print_help(const struct choices *c)
{
	static const struct choice help = {"help", .letter = 'h', .about = "this text"};
	char text[OPTION_TEXT];
	int widest = option_text(&help, text);
	for (size_t i = 0; i < c->n; i++) {
		int width = option_text(&c->table[i], text);
		widest = width > widest ? width : widest;
	}
	printf("usage: iolens %s\n", c->before);
	for (size_t i = 0; i <= c->n; i++) {
		const struct choice *row = i < c->n ? &c->table[i] : &help;
		option_text(row, text);
		printf("%-*s  ", widest, text);
		print_about(row->about, widest + 2);
	}
	if (c->after)
		printf("\n%s", c->after);
}

static int option_of_letter(const struct choices *c, int got)
{
	for (size_t i = 0; i < c->n; i++)
		if (got > LARGEST && got == c->table[i].letter)
			return (int)i;
	return got == 'h' ? ASKS_HELP : got;
}

/* What getopt complains of: "-x" out of "-axe", or the word "--what=is-this". */
static const char *offender(char **argv, char letter[3])
{
	if (optopt <= LARGEST)
		return argv[optind - 1];
	letter[0] = '-';
	letter[1] = (char)optopt;
	letter[2] = '\0';
	return letter;
}

static const char *option_at(const void *context, size_t i)
{
	const struct choices *c = context;
	return i < c->n ? c->table[i].name : i == c->n ? "help" : NULL;
}

static int fail_option(const struct choices *c, const char *option)
{
	char name[NEAREST_HINT];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(option, "="), option);
	const char *meant = strncmp(name, "--", 2) ? NULL : nearest(name + 2, option_at, c);
	if (meant)
		return cli_fail(CLI_USAGE, "%s: unknown option %s: did you mean --%s?", c->command, option, meant);
	return cli_fail(CLI_USAGE, "%s: unknown option %s: see iolens %s --help", c->command, option, c->command);
}

/* What was meant by the part of "posix,stdoi" that is none of the row's words; NULL = not known. */
static const char *meant_part(const char *text, const struct choice *row)
{
	char part[NEAREST_HINT];
	for (size_t n; row->word && *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		snprintf(part, sizeof part, "%.*s", (int)n, text);
		const char *meant = nearest(part, row->word, row);
		if (meant && nearest_distance(part, meant, 0))
			return meant;
	}
	return NULL;
}

static int fail_value(const struct choices *c, const struct choice *row, const char *text)
{
	const char *meant = meant_part(text, row);
	if (!*text && row->expect)
		return cli_fail(CLI_USAGE, "%s: --%s \"\": expected %s: see iolens %s --help", c->command, row->name,
				row->expect, c->command);
	if (!*text || !strcmp(text, "--"))
		return cli_fail(CLI_USAGE, "%s: option --%s needs a value: see iolens %s --help", c->command, row->name,
				c->command);
	if (meant)
		return cli_fail(CLI_USAGE, "%s: --%s %s: did you mean %s?", c->command, row->name, text, meant);
	return cli_fail(CLI_USAGE, "%s: --%s%s%s: expected %s: see iolens %s --help", c->command, row->name,
			row->optional ? "=" : " ", text, row->expect ? row->expect : row->value, c->command);
}

/* Sets option `got`; CLI_USAGE, and why on standard error, where that cannot be. */
static int take(const struct choices *c, int got, char **argv, void *target)
{
	char letter[3];
	if (got == '?')
		return fail_option(c, offender(argv, letter));
	if (got == ':')
		return cli_fail(CLI_USAGE, "%s: option %s needs a value: see iolens %s --help", c->command,
				offender(argv, letter), c->command);
	const struct choice *row = &c->table[got];
	return row->set(target, row, optarg) ? CLI_OK : fail_value(c, row, optarg ? optarg : "");
}

/* Both have room for what is added to the rows: --help, and an end. */
static void describe_to_getopt(const struct choices *c, struct option *options, char *letters)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct choice *row = &c->table[i];
		int takes = !row->value ? no_argument : row->optional ? optional_argument : required_argument;
		*options++ = (struct option){row->name, takes, NULL, (int)i};
		if (row->letter)
			letters += sprintf(letters, "%c%s", row->letter, row->value ? ":" : "");
	}
	options[0] = (struct option){"help", no_argument, NULL, ASKS_HELP};
	options[1] = (struct option){0};
}

int choices_parse(const struct choices *c, int argc, char **argv, void *target, int *code)
{
	struct option options[LARGEST + 2];
	char letters[2 * LARGEST + 4] = "+:h";
	if (c->n > LARGEST)
		abort();
	char *wanted = c->runs_command ? letters : letters + 1;
	describe_to_getopt(c, options, letters + 3);
	opterr = 0;
	*code = CLI_OK;
	for (int got; !*code && (got = getopt_long(argc, argv, wanted, options, NULL)) >= 0;) {
		got = option_of_letter(c, got);
		if (got == ASKS_HELP) {
			print_help(c);
			return -1;
		}
		*code = take(c, got, argv, target);
	}
	int left = argc - optind;
	if (!*code && (left < c->least || (c->most && left > c->most)))
		*code = cli_fail(CLI_USAGE, "%s: %s: see iolens %s --help", c->command, c->wanted, c->command);
	return *code ? -1 : optind;
}
