/* iolens convert: a log written again, in the newest format, in part, annotated or anonymized. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "filter.h"
#include "hash.h"
#include "leak.h"
#include "rewrite.h"

static const char help[] =
	"usage: iolens convert [OPTION...] LOG NEWLOG\n"
	"\n"
	"Writes LOG again in the newest format (3.41), each region as one compressed stream. NEWLOG must not exist.\n"
	"Traces are written as released Darshan tools read them: without the thread handles of development versions.\n"
	"\n"
	"      --module NAME[,NAME...]  only these modules\n"
	"      --file ID|NAME           only this record id or file name; may be repeated\n"
	"      --name GLOB              only files whose path matches, as in '*.h5'\n"
	"      --regex REGEX            only files whose path matches an extended regular expression\n"
	"      --rank LIST              only records of these ranks, as in 0,4-7; \"shared\" = records of all ranks\n"
	"      --bzip2                  compress with bzip2 instead of zlib\n"
	"      --drop-trailer           without the tables that iolens adds\n"
	"      --smaller                copy LOG as it is if writing it again would not make it smaller\n"
	"      --reset-md               without the old metadata\n"
	"      --annotate KEY=VALUE     add to the metadata; may be repeated\n"
	"      --anonymize PASSPHRASE   pseudonyms for path components, record ids, command line, user, job and "
	"hosts;\n"
	"                               the same passphrase gives the same pseudonyms. Mount points stay. The result "
	"is\n"
	"                               searched for what should have gone; nothing is left when something is found\n"
	"  -h, --help                   this text\n"
	"\n"
	"Exit codes: 0 ok, 2 wrong usage, 3 unreadable or not writable, 4 written, but a module was left out.\n";

enum { MANY = 256 };

struct conversion {
	struct rewrite rewrite;
	struct filter filter;
	uint64_t ids[MANY];
	struct log_pair annotations[MANY];
	struct pseudonym_key key;
	bool smaller;
	const char *paths[2];
	size_t npaths;
};

static int set_modules(struct conversion *c, const char *value)
{
	bool known = filter_set_modules(&c->filter, value);
	c->rewrite.modules = c->filter.modules;
	return known ? 0 : cli_fail(CLI_USAGE, "convert: %s: not a list of module names", value);
}

static bool wants_name(const void *context, const char *name)
{
	return filter_name(context, name);
}

static int set_names(struct conversion *c, const char *value, bool regex)
{
	c->rewrite.wants_name = wants_name;
	c->rewrite.context = &c->filter;
	if (!regex)
		c->filter.glob = value;
	else if (!filter_set_regex(&c->filter, value))
		return cli_fail(CLI_USAGE, "convert: %s: not a regular expression", value);
	return 0;
}

static int set_ranks(struct conversion *c, const char *value)
{
	bool valid = filter_set_ranks(&c->filter, value);
	c->rewrite.ranks = c->filter.ranks;
	c->rewrite.nranks = c->filter.nranks;
	return valid ? 0 : cli_fail(CLI_USAGE, "convert: %s: not a list of ranks, as in 0,4-7,shared", value);
}

static int add_file(struct conversion *c, const char *value)
{
	char *end;
	if (c->rewrite.nids == MANY)
		return cli_fail(CLI_USAGE, "convert: more than %d files", MANY);
	errno = 0;
	uint64_t id = strtoull(value, &end, 10);
	c->ids[c->rewrite.nids++] = *value && !*end && !errno ? id : log_id(value);
	c->rewrite.ids = c->ids;
	return 0;
}

static int add_annotation(struct conversion *c, char *value)
{
	char *equals = strchr(value, '=');
	if (!equals || equals == value || strchr(value, '\n'))
		return cli_fail(CLI_USAGE, "convert: %s: an annotation is KEY=VALUE on one line", value);
	if (c->rewrite.nannotations == MANY)
		return cli_fail(CLI_USAGE, "convert: more than %d annotations", MANY);
	*equals = '\0';
	c->annotations[c->rewrite.nannotations++] = (struct log_pair){value, equals + 1};
	c->rewrite.annotations = c->annotations;
	return 0;
}

static int set_key(struct conversion *c, const char *value)
{
	c->key = pseudonym_key(value);
	c->rewrite.key = &c->key;
	return *value ? 0 : cli_fail(CLI_USAGE, "convert: an empty passphrase protects nothing");
}

static int take_value(struct conversion *c, const char *option, char *value)
{
	if (!strcmp(option, "--module"))
		return set_modules(c, value);
	if (!strcmp(option, "--rank"))
		return set_ranks(c, value);
	if (!strcmp(option, "--name") || !strcmp(option, "--regex"))
		return set_names(c, value, option[2] == 'r');
	if (!strcmp(option, "--file"))
		return add_file(c, value);
	if (!strcmp(option, "--annotate"))
		return add_annotation(c, value);
	if (!strcmp(option, "--anonymize"))
		return set_key(c, value);
	return -1;
}

static bool take_flag(struct conversion *c, const char *option)
{
	if (!strcmp(option, "--bzip2")) {
		c->rewrite.compression = LOG_BZIP2;
		return true;
	}
	bool *flag = !strcmp(option, "--drop-trailer") ? &c->rewrite.drop_trailer
		     : !strcmp(option, "--reset-md")   ? &c->rewrite.reset_metadata
		     : !strcmp(option, "--smaller")    ? &c->smaller
						       : NULL;
	if (flag)
		*flag = true;
	return flag;
}

static int parse(struct conversion *c, char **argv)
{
	int code = 0;
	for (; *argv && !code; argv++) {
		if (**argv != '-' && c->npaths < 2) {
			c->paths[c->npaths++] = *argv;
		} else if (!take_flag(c, *argv)) {
			code = argv[1] ? take_value(c, *argv, argv[1]) : -1;
			if (code < 0)
				return cli_fail(CLI_USAGE, "convert: unexpected \"%s\": see iolens convert --help",
						*argv);
			argv++;
		}
	}
	if (!code && c->npaths < 2)
		return cli_fail(CLI_USAGE, "convert: a log and a new name are needed: see iolens convert --help");
	return code;
}

/* ---- doing it ---- */

/* CLI_OK or an exit code, the reason printed: with the name of the file that it is about. */
static int write_new(struct conversion *c, struct log *log)
{
	struct log_writer *w;
	struct log_error err = {0};
	const char *about = c->paths[1];
	int code = log_writer_file(&w, c->paths[1], &err);
	if (code >= 0) {
		code = rewrite_log(&c->rewrite, log, w, &err);
		about = code < 0 && err.offset != LOG_NOWHERE ? c->paths[0] : about;
		if (code >= 0)
			code = log_writer_finish(w, &err);
		log_writer_free(w);
	}
	if (code < 0)
		cli_log_error(about, &err);
	return code < 0 ? CLI_INPUT : CLI_OK;
}

static int copy_as_it_is(const char *from, const char *to)
{
	char buffer[65536];
	FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
	size_t n;
	int failed = !out;
	while (!failed && (n = fread(buffer, 1, sizeof buffer, in)) > 0)
		failed = fwrite(buffer, 1, n, out) != n;
	failed |= in && ferror(in);
	if (in)
		fclose(in);
	if (out)
		failed |= fclose(out) != 0 || chmod(to, 0400) != 0;
	return failed ? cli_fail(CLI_INPUT, "convert: %s: %s", to, strerror(errno)) : CLI_OK;
}

static int keep_smaller(const struct conversion *c)
{
	struct stat old, new;
	if (!c->smaller || stat(c->paths[0], &old) || stat(c->paths[1], &new) || new.st_size < old.st_size)
		return CLI_OK;
	unlink(c->paths[1]);
	return copy_as_it_is(c->paths[0], c->paths[1]);
}

static int check_leaks(const struct conversion *c, struct log *log)
{
	char found[LEAK_TEXT];
	struct log_error err;
	if (!c->rewrite.key)
		return CLI_OK;
	int leaks = leak_search(log, c->paths[1], found, &err);
	if (!leaks)
		return CLI_OK;
	unlink(c->paths[1]);
	if (leaks < 0)
		cli_log_error(c->paths[1], &err);
	return cli_fail(CLI_INPUT, "convert: %s: not kept: %s", c->paths[1],
			leaks < 0 ? "it could not be searched for leaks" : found);
}

static int convert(struct conversion *c)
{
	struct log *log;
	struct log_error err = {0};
	int code = log_open_file(&log, c->paths[0], &err);
	if (code < 0) {
		cli_log_error(c->paths[0], &err);
		return CLI_INPUT;
	}
	int result = write_new(c, log);
	result = result ? result : check_leaks(c, log);
	log_close(log);
	if (result)
		return result;
	if (c->rewrite.left_out)
		return cli_fail(CLI_PARTIAL, "convert: %s: %d modules left out: this version does not decode them",
				c->paths[0], c->rewrite.left_out);
	return keep_smaller(c);
}

int convert_main(int argc, char **argv)
{
	static struct conversion c;
	(void)argc;
	if (argv[1] && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return CLI_OK;
	}
	int code = parse(&c, argv + 1);
	return code ? code : convert(&c);
}
