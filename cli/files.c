/* iolens files: one line per file, the longest in I/O first. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "digest.h"
#include "digest_json.h"
#include "file_table.h"
#include "moved.h"
#include "output.h"
#include "sites.h"

struct request {
	const char *log;
	size_t top; /* 0: not said */
	bool json, sites;
};

enum { OTHER_LINES = 14, LEAST_ROWS = 10, USUAL_WIDTH = 80, USUAL_LINES = 24 };

/* On a terminal: as wide as it is, and as many rows as it has lines, less those for what follows. */
static void print_table(struct output *out, const struct digest *d, const struct request *r, const struct sites *sites)
{
	struct winsize size = {0};
	size_t rows = r->top, width = 0;
	if (isatty(STDOUT_FILENO)) {
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
		width = size.ws_col ? size.ws_col : USUAL_WIDTH;
		size_t lines = size.ws_row ? size.ws_row : USUAL_LINES;
		if (!rows)
			rows = lines > OTHER_LINES + LEAST_ROWS ? lines - OTHER_LINES : LEAST_ROWS;
	}
	file_table_print(out, d, rows ? rows : SIZE_MAX, width, sites);
}

static void print_json(const struct digest *d, const char *log, size_t top, const struct sites *sites)
{
	struct json j = {.out = stdout};
	json_document(&j, "files", 1);
	json_text(&j, "log", log);
	json_open(&j, "files", '[');
	for (size_t n = 0; n < d->nfiles && n < top; n++)
		digest_json_file(&j, &d->files[n], sites);
	json_close(&j);
	json_i64(&j, "folded_opens", d->folded_opens);
	json_i64(&j, "folded_files", d->folded_files);
	json_close(&j);
}

static int print_ways(const struct digest *d)
{
	moved_print_missing(stdout, d);
	moved_print(stdout, d);
	return fflush(stdout);
}

static int print_files(const struct request *r)
{
	struct digest d;
	struct log_error err;
	struct output out;
	int code = digest_open(&d, r->log, &err), exit = CLI_OK;
	struct sites *sites = NULL;
	if (code >= 0 && r->sites && sites_open(&sites, d.log, &err) < 0)
		d.damage = err;
	if (code < 0) {
		cli_log_error(r->log, &err);
		exit = CLI_INPUT;
	} else if (r->json) {
		print_json(&d, r->log, r->top ? r->top : SIZE_MAX, sites);
		exit = fflush(stdout) == 0 ? CLI_OK : cli_fail(CLI_INPUT, "files: cannot write the table");
	} else if (output_open(&out, 1)) {
		print_table(&out, &d, r, sites);
		exit = output_close(&out) == 0 && print_ways(&d) == 0
			       ? CLI_OK
			       : cli_fail(CLI_INPUT, "files: cannot write the table");
	}
	if (exit == CLI_OK && d.damage.code) {
		cli_log_error(r->log, &d.damage);
		exit = CLI_PARTIAL;
	}
	sites_close(sites);
	digest_close(&d);
	return exit;
}

static bool set_top(void *target, const struct choice *c, char *text)
{
	struct request *r = target;
	char *end;
	bool all = !strcmp(text, "all");
	r->top = all ? SIZE_MAX : strtoull(text, &end, 10);
	if (all)
		return true;
	return *text >= '0' && *text <= '9' && !*end && r->top;
}

static const struct choice table[] = {
	{"top", "N", set_top, "only the first N files, or all (default: as many as fit the terminal, otherwise all)",
	 .expect = "a number above 0, or all"},
	{"sites", NULL, choice_flag,
	 "where each was opened: program or library, and offset (findings and SQL name functions)",
	 .at = offsetof(struct request, sites)},
	{"json", NULL, choice_flag, "as JSON, with numbers in bytes and seconds", .at = offsetof(struct request, json)},
};

static const struct choices files_choices = {
	.command = "files",
	.before =
		"files [OPTION...] LOG\n"
		"\n"
		"One line per file, over all processes, the file with the most time in I/O first:\n"
		"size (highest offset seen + 1), bytes moved, time in I/O, reads and writes, seeks, and the re-read "
		"factor:\n"
		"bytes read / size of what was read. 3 means that every byte was read three times.\n"
		"Class is that of the file's file system: lustre, nfs, local, memory or others.\n"
		"A narrow terminal gets fewer columns, and long paths shortened in the middle.\n"
		"Numbers are those of the lowest layer seen; for MPI-IO files, the next columns show what the program "
		"requested\n"
		"of MPI-IO. A name that ends in / is a directory that was synced to storage.\n"
		"A file written under a temporary name and renamed has its final name first: ck.bin, written as "
		"ck.tmp.\n"
		"The last line is the sum over all files; then the number of files without a record of their own.\n"
		"Below it, in iolens's logs: how the bytes were moved (files, sockets, programs not observed, "
		"unexplained).\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.most = 1,
	.wanted = "give one log",
};

static int files_main(int argc, char **argv)
{
	struct request r = {0};
	int code, at = choices_parse(&files_choices, argc, argv, &r, &code);
	if (at < 0)
		return code;
	r.log = argv[at];
	return print_files(&r);
}

const struct command files_command = {
	.name = "files",
	.main = files_main,
	.group = GROUP_LOOK,
	.place = 20,
	.about = "its files as a table: size, bytes moved, time, operations, re-reading",
	.choices = &files_choices,
	.reads_logs = true,
};
