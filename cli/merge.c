/* iolens merge: several logs as one. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "choices.h"
#include "cli.h"
#include "index.h"
#include "merge.h"
#include "progress.h"
#include "units.h"

struct request {
	struct merge merge;
	const char *output;
};

static bool set_end(void *target, const struct choice *c, char *text)
{
	struct request *r = target;
	char *end;
	errno = 0;
	r->merge.end = strtoll(text, &end, 10);
	return !errno && !*end && r->merge.end > 0;
}

static bool set_ranks(void *target, const struct choice *c, char *unused)
{
	struct request *r = target;
	r->merge.ranks = c->bits;
	return true;
}

static bool set_bzip2(void *target, const struct choice *c, char *unused)
{
	struct request *r = target;
	r->merge.compression = LOG_BZIP2;
	return true;
}

static const struct choice table[] = {
	{"output", "NEWLOG", choice_file, "the log to write; it must not exist", .letter = 'o',
	 .at = offsetof(struct request, output), .expect = "the name of a file: a log does not go to standard output"},
	{"shared-redux", NULL, choice_flag, "give a file that all processes used one record of rank -1",
	 .at = offsetof(struct request, merge.reduce_shared)},
	{"keep-ranks", NULL, set_ranks, "treat all logs as parts of one job: ranks stay as they are",
	 .bits = MERGE_RANKS_KEPT},
	{"new-ranks", NULL, set_ranks, "give every log ranks of its own", .bits = MERGE_RANKS_NEW},
	{"keep-gaps", NULL, choice_flag, "keep clock times, including time in which nothing ran",
	 .at = offsetof(struct request, merge.keep_gaps)},
	{"job-end-time", "SECONDS", set_end, "end time for logs that have none, in seconds since 1970",
	 .expect = "seconds since 1970"},
	{"bzip2", NULL, set_bzip2, .about = "compress with bzip2 instead of zlib"},
	{"drop-trailer", NULL, choice_flag, "leave out the tables that iolens adds",
	 .at = offsetof(struct request, merge.drop_trailer)},
};

static const struct choices merge_choices = {
	.command = "merge",
	.before = "merge [OPTION...] --output NEWLOG LOG...\n"
		  "\n"
		  "Combines several logs into one: of processes, nodes or steps of a job, parts made by iolens "
		  "convert, or\n"
		  "different jobs. Parts of one job keep their ranks; otherwise a log's ranks follow those of the log "
		  "that began\n"
		  "before it. Time in which nothing ran is left out.\n",
	.after = "Exit codes: 0 ok, 2 wrong usage, 3 unreadable or not writable, 4 written, but some data are "
		 "missing.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.wanted = "give the logs to merge",
};

/* Returns the place of the first log in argv, or -1 with *code set. */
static int parse(int argc, char **argv, struct request *r, int *code)
{
	int at = choices_parse(&merge_choices, argc, argv, r, code);
	if (at < 0 || r->output)
		return at;
	*code = cli_fail(CLI_USAGE, "merge: --output NEWLOG is missing: see iolens merge --help");
	return -1;
}

/* By mistake: everything in it would count twice. */
static int check_twice(const struct request *r, char **paths, int n)
{
	struct text_index seen = {0};
	int code = CLI_OK;
	for (int i = 0; i < n && !code && r->merge.ranks != MERGE_RANKS_NEW; i++) {
		struct stat s;
		bool is_new = true;
		if (stat(paths[i], &s))
			continue; /* opening it says more */
		const uint64_t file[] = {s.st_dev, s.st_ino};
		if (text_number(&seen, file, sizeof file, &is_new) != SIZE_MAX && !is_new)
			code = cli_fail(CLI_USAGE,
					"merge: %s is there twice: leave one out, or --new-ranks to count it twice",
					paths[i]);
	}
	text_index_free(&seen);
	return code;
}

static int report(const struct request *r)
{
	const struct merge *m = &r->merge;
	int code = CLI_OK;
	char more[64];
	snprintf(more, sizeof more, "; the same of %s", COUNTED(m->jobless - 1, "other log"));
	if (m->renamed)
		code = cli_fail(CLI_PARTIAL, "merge: %s got a new id: in the logs, one id stands for different names",
				COUNTED(m->renamed, "file"));
	if (m->jobless)
		code = cli_fail(
			CLI_PARTIAL,
			"merge: %s: %s: its records are kept, as of a job that began with the others; its user, "
			"number and command are lost%s",
			m->jobless_path, m->jobless_error.message, m->jobless > 1 ? more : "");
	for (int i = 0; i < LOG_MAX_MODULES; i++)
		if (m->left_out >> i & 1)
			code = cli_fail(CLI_PARTIAL, "merge: module %s left out: this version does not decode it",
					log_module_name(i));
	return code;
}

static int merge_main(int argc, char **argv)
{
	struct request r = {.merge.reads = progress_step};
	struct log_error err = {0};
	struct log_writer *w;
	char what[64];
	int exit, at = parse(argc, argv, &r, &exit);
	if (at < 0)
		return exit;
	exit = check_twice(&r, argv + at, argc - at);
	if (exit)
		return exit;
	int code = log_writer_file(&w, r.output, &err);
	snprintf(what, sizeof what, "merging %s", COUNTED(argc - at, "log"));
	progress_begin(what, 0);
	if (code >= 0) {
		code = merge_logs(&r.merge, (const char *const *)argv + at, (size_t)(argc - at), w, &err);
		if (code >= 0)
			code = log_writer_finish(w, &err);
		log_writer_free(w);
	}
	progress_end();
	if (code < 0) {
		cli_log_error(r.merge.offender ? r.merge.offender : r.output, &err);
		return CLI_INPUT;
	}
	return report(&r);
}

const struct command merge_command = {
	.name = "merge",
	.main = merge_main,
	.group = GROUP_TRANSFORM,
	.place = 20,
	.about = "combine several logs: of processes, nodes, steps, or different jobs",
	.choices = &merge_choices,
	.reads_logs = true,
};
