/* iolens convert: a log written again, in the newest format, in part, annotated or anonymized. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "filter.h"
#include "hash.h"
#include "anonymization_check.h"
#include "anonymization_key.h"
#include "rewrite.h"
#include "sink.h"
#include "units.h"

enum { MANY = 256 };

struct conversion {
	struct rewrite rewrite;
	struct filter filter;
	uint64_t ids[MANY];
	struct log_pair annotations[MANY];
	struct pseudonym_key key;
	const char *source, *salt; /* of the key */
	bool smaller;
	char **paths; /* of the log, and of the new one */
};

static bool add_file(void *target, const struct choice *choice, char *text)
{
	struct conversion *c = target;
	char *end;
	if (c->rewrite.nids == MANY)
		return false;
	errno = 0;
	uint64_t id = strtoull(text, &end, 10);
	c->ids[c->rewrite.nids++] = *text && !*end && !errno ? id : log_id(text);
	return true;
}

static bool add_annotation(void *target, const struct choice *choice, char *text)
{
	struct conversion *c = target;
	char *equals = strchr(text, '=');
	if (!equals || equals == text || strchr(text, '\n') || c->rewrite.nannotations == MANY)
		return false;
	*equals = '\0';
	c->annotations[c->rewrite.nannotations++] = (struct log_pair){text, equals + 1};
	return true;
}

static bool set_key(void *target, const struct choice *choice, char *text)
{
	struct conversion *c = target;
	c->source = text;
	c->rewrite.key = &c->key;
	return true;
}

static bool set_bzip2(void *target, const struct choice *choice, char *unused)
{
	struct conversion *c = target;
	c->rewrite.compression = LOG_BZIP2;
	return true;
}

static const struct choice table[] = {
	FILTER_MODULE_CHOICE(offsetof(struct conversion, filter)),
	{"file", "ID|NAME", add_file, "only this record id or file name; may be repeated",
	 .expect = "an id or a name, at most 256 times"},
	FILTER_CHOICES(offsetof(struct conversion, filter)),
	{"bzip2", NULL, set_bzip2, .about = "compress with bzip2 instead of zlib"},
	{"best", NULL, choice_flag, "compress as well as zlib's format allows, which takes longer",
	 .at = offsetof(struct conversion, rewrite.smallest)},
	{"drop-trailer", NULL, choice_flag, "leave out the tables that iolens adds",
	 .at = offsetof(struct conversion, rewrite.drop_trailer)},
	{"smaller", NULL, choice_flag, "copy LOG unchanged if rewriting would not make it smaller",
	 .at = offsetof(struct conversion, smaller)},
	{"reset-md", NULL, choice_flag, "leave out the old metadata",
	 .at = offsetof(struct conversion, rewrite.reset_metadata)},
	{"annotate", "KEY=VALUE", add_annotation, "add to the metadata; may be repeated",
	 .expect = "KEY=VALUE on one line, at most 256 times"},
	{"anonymize", "KEY", set_key,
	 "replace path components, record ids, command line, user, job, hosts, and unusual\n"
	 "mount points by pseudonyms. The same key gives the same pseudonyms. Default: a\n"
	 "random key that is not kept. key:FILE: a random one, kept in FILE. passphrase:FILE,\n"
	 "env:NAME: made from a passphrase in FILE, or in the variable NAME. iolens removes\n"
	 "NEWLOG if it finds an old name in it",
	 .optional = true},
	{"salt", "TEXT", choice_text,
	 "with a passphrase: the same TEXT gives the same key (default: random, and printed)",
	 .at = offsetof(struct conversion, salt)},
};

static const struct choices convert_choices = {
	.command = "convert",
	.before = "convert [OPTION...] LOG NEWLOG\n"
		  "\n"
		  "Rewrites LOG in the newest format (3.41), each region as one compressed stream. NEWLOG must not "
		  "exist.\n"
		  "Traces are written as released Darshan tools read them: without the thread handles of development "
		  "versions.\n",
	.after = "Exit codes: 0 ok, 2 wrong usage, 3 unreadable or not writable, 4 written, but a module was left "
		 "out.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 2,
	.most = 3,
	.wanted = "give a log and a new name",
};

static bool wants_name(const void *context, const char *name)
{
	return filter_name(context, name);
}

/* What is to be rewritten, from what was read into the filter and the lists. */
static void select_parts(struct conversion *c)
{
	struct rewrite *w = &c->rewrite;
	w->modules = c->filter.modules;
	w->ranks = c->filter.nranks ? c->filter.ranks : NULL;
	w->nranks = c->filter.nranks;
	w->ids = w->nids ? c->ids : NULL;
	w->annotations = c->annotations;
	if (c->filter.glob || c->filter.has_regex) {
		w->wants_name = wants_name;
		w->context = &c->filter;
	}
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
		about = code < 0 && !log_writer_blame(w, &err) ? c->paths[0] : about;
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
	struct sink out;
	struct log_error err = {0};
	FILE *in = fopen(from, "rb");
	if (!in)
		return cli_fail(CLI_INPUT, "convert: %s: %s", from, strerror(errno));
	int code = sink_open_file(&out, to, &err);
	for (size_t n; code >= 0 && (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
		code = sink_write(&out, buffer, n, &err);
	bool unread = ferror(in);
	fclose(in);
	if (code >= 0 && !unread)
		code = sink_finish(&out, &err);
	sink_close(&out);
	if (code < 0)
		cli_log_error(to, &err);
	else if (unread)
		cli_fail(0, "convert: %s: cannot be read", from);
	return code < 0 || unread ? CLI_INPUT : CLI_OK;
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
		return cli_fail(CLI_PARTIAL, "convert: %s: %s left out: this version does not decode %s", c->paths[0],
				COUNTED(c->rewrite.left_out, "module"), units_agree(c->rewrite.left_out, "it", "them"));
	return keep_smaller(c);
}

/* The key, if one is wanted; how it is made again is told at the end. */
static int convert_with_key(struct conversion *c)
{
	char made[SALT_TEXT];
	bool own = c->salt;
	int code = c->rewrite.key ? anonymization_key(&c->key, c->source, &c->salt, made) : CLI_OK;
	if (code == CLI_OK && c->salt && !c->rewrite.key)
		code = cli_fail(CLI_USAGE, "convert: --salt goes with --anonymize");
	code = code ? code : convert(c);
	if (c->rewrite.key && c->salt && !own && (code == CLI_OK || code == CLI_PARTIAL))
		cli_fail(0, "convert: --salt %s and the same passphrase give other logs the same pseudonyms", c->salt);
	return code;
}

static int convert_main(int argc, char **argv)
{
	static struct conversion c;
	int code, at = choices_parse(&convert_choices, argc, argv, &c, &code);
	if (at < 0)
		return code;
	if (argc - at > 2 && c.rewrite.key && !c.source)
		return anonymization_key_refuse();
	if (argc - at > 2)
		return cli_fail(CLI_USAGE, "convert: %s: see iolens convert --help", convert_choices.wanted);
	c.paths = argv + at;
	if (!strcmp(c.paths[1], "-"))
		return cli_fail(CLI_USAGE,
				"convert: -: expected the name of a file: a log does not go to standard output");
	if (c.rewrite.smallest && c.rewrite.compression == LOG_BZIP2)
		return cli_fail(CLI_USAGE, "convert: --best is of zlib's format, --bzip2 another: give one of them");
	select_parts(&c);
	code = convert_with_key(&c);
	filter_close(&c.filter);
	return code;
}

const struct command convert_command = {
	.name = "convert",
	.main = convert_main,
	.group = GROUP_TRANSFORM,
	.place = 10,
	.about = "rewrite a log: in the newest format, in part, annotated, anonymized",
	.choices = &convert_choices,
	.reads_logs = true,
};
