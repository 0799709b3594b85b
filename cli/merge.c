/* iolens merge: several logs as one. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "cli.h"
#include "hash.h"
#include "index.h"
#include "merge.h"

enum option_id {
	OPTION_OUTPUT,
	OPTION_SHARED,
	OPTION_KEEP,
	OPTION_RENUMBER,
	OPTION_GAPS,
	OPTION_END,
	OPTION_BZIP2,
	OPTION_DROP,
	OPTION_HELP,
	OPTIONS
};

static const struct choice {
	const char *name, *value, *about;
} choices[OPTIONS] = {
	[OPTION_OUTPUT] = {"output", "NEWLOG", "the log to write; it must not exist (also -o)"},
	[OPTION_SHARED] = {"shared-redux", NULL, "a file that all processes used gets one record of rank -1"},
	[OPTION_KEEP] = {"keep-ranks", NULL, "all logs are parts of one job: ranks stay"},
	[OPTION_RENUMBER] = {"new-ranks", NULL, "every log has ranks of its own"},
	[OPTION_GAPS] = {"keep-gaps", NULL, "times as on the clock: also the time in which nothing ran"},
	[OPTION_END] = {"job-end-time", "SECONDS", "end of logs that have none, in seconds since 1970"},
	[OPTION_BZIP2] = {"bzip2", NULL, "compress with bzip2 instead of zlib"},
	[OPTION_DROP] = {"drop-trailer", NULL, "without the tables that iolens adds"},
	[OPTION_HELP] = {"help", NULL, "this text"},
};

static void print_help(void)
{
	puts("usage: iolens merge [OPTION...] --output NEWLOG LOG...\n\n"
	     "Writes several logs as one: of the processes, nodes or steps of a job, parts that iolens convert made, "
	     "or\n"
	     "different jobs. Parts of one job keep their ranks; otherwise the ranks of a log follow those of the one "
	     "that\n"
	     "began before it. Time in which nothing ran is left out.\n");
	for (int i = 0; i < OPTIONS; i++) {
		char option[40];
		snprintf(option, sizeof option, "%s %s", choices[i].name, choices[i].value ? choices[i].value : "");
		printf("  --%-22s %s\n", option, choices[i].about);
	}
	puts("\nExit codes: 0 ok, 2 wrong usage, 3 unreadable or not writable, 4 written, but some data are missing.");
}

struct request {
	struct merge merge;
	const char *output;
};

static int set_end(struct request *r, const char *text)
{
	char *end;
	errno = 0;
	r->merge.end = strtoll(text, &end, 10);
	if (errno || *end || r->merge.end <= 0)
		return cli_fail(CLI_USAGE,
				"merge: --job-end-time %s: expected seconds since 1970: see iolens merge --help", text);
	return 0;
}

static int set_option(struct request *r, int option)
{
	struct merge *m = &r->merge;
	if (option == OPTION_OUTPUT)
		r->output = optarg;
	else if (option == OPTION_SHARED)
		m->reduce_shared = true;
	else if (option == OPTION_KEEP)
		m->ranks = MERGE_RANKS_KEPT;
	else if (option == OPTION_RENUMBER)
		m->ranks = MERGE_RANKS_NEW;
	else if (option == OPTION_GAPS)
		m->keep_gaps = true;
	else if (option == OPTION_BZIP2)
		m->compression = LOG_BZIP2;
	else if (option == OPTION_DROP)
		m->drop_trailer = true;
	else
		return set_end(r, optarg);
	return 0;
}

/* Returns the place of the first log in argv, or -1 with *code set. */
static int parse(int argc, char **argv, struct request *r, int *code)
{
	struct option options[OPTIONS + 1] = {0};
	for (int i = 0; i < OPTIONS; i++)
		options[i] =
			(struct option){choices[i].name, choices[i].value ? required_argument : no_argument, NULL, i};
	opterr = 0;
	for (int got; (got = getopt_long(argc, argv, "ho:", options, NULL)) >= 0;) {
		*code = CLI_OK;
		if (got == OPTION_HELP || got == 'h') {
			print_help();
			return -1;
		}
		if (got >= OPTIONS && got != 'o')
			*code = cli_fail(CLI_USAGE, "merge: %s: see iolens merge --help", argv[optind - 1]);
		else
			*code = set_option(r, got == 'o' ? OPTION_OUTPUT : got);
		if (*code)
			return -1;
	}
	if (r->output && optind < argc)
		return optind;
	*code = cli_fail(CLI_USAGE, "merge: %s: see iolens merge --help",
			 r->output ? "give the logs to merge" : "--output NEWLOG is missing");
	return -1;
}

/* By mistake: everything in it would count twice. */
static int check_twice(const struct request *r, char **paths, int n)
{
	struct index seen = {0};
	int code = CLI_OK;
	for (int i = 0; i < n && !code && r->merge.ranks != MERGE_RANKS_NEW; i++) {
		struct stat s;
		bool is_new = true;
		if (stat(paths[i], &s))
			continue; /* opening it says more */
		const uint64_t file[] = {s.st_dev, s.st_ino};
		if (index_number(&seen, log_hash(file, sizeof file, 0), &is_new) != SIZE_MAX && !is_new)
			code = cli_fail(CLI_USAGE,
					"merge: %s is there twice: leave one out, or --new-ranks to count it twice",
					paths[i]);
	}
	index_free(&seen);
	return code;
}

static int report(const struct request *r)
{
	const struct merge *m = &r->merge;
	int code = CLI_OK;
	if (m->renamed)
		code = cli_fail(CLI_PARTIAL, "merge: %zu names are not the same in all logs: the first of each is kept",
				m->renamed);
	for (int i = 0; i < LOG_MAX_MODULES; i++)
		if (m->left_out >> i & 1)
			code = cli_fail(CLI_PARTIAL, "merge: module %s left out: this version does not decode it",
					log_module_name(i));
	return code;
}

int merge_main(int argc, char **argv)
{
	struct request r = {0};
	struct log_error err = {0};
	struct log_writer *w;
	int exit, at = parse(argc, argv, &r, &exit);
	if (at < 0)
		return exit;
	exit = check_twice(&r, argv + at, argc - at);
	if (exit)
		return exit;
	int code = log_writer_file(&w, r.output, &err);
	if (code >= 0) {
		code = merge_logs(&r.merge, (const char *const *)argv + at, (size_t)(argc - at), w, &err);
		if (code >= 0)
			code = log_writer_finish(w, &err);
		log_writer_free(w);
	}
	if (code < 0) {
		cli_log_error(r.merge.offender ? r.merge.offender : r.output, &err);
		return CLI_INPUT;
	}
	return report(&r);
}
