/* iolens files: one line per file, the longest in I/O first. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "cli.h"
#include "digest.h"
#include "digest_json.h"
#include "moved.h"
#include "output.h"
#include "units.h"

struct request {
	const char *log;
	size_t top;
	bool json;
};

/* With two columns of what MPI-IO was asked for, where it was. */
static void print_row(struct output *out, const struct digest_file *f, bool upper)
{
	char size[UNITS_TEXT], moved[UNITS_TEXT], time[UNITS_TEXT], calls[UNITS_TEXT], seeks[UNITS_TEXT];
	char factor[16] = "-";
	if (f->read_size > 0)
		snprintf(factor, sizeof factor, "%.2f", digest_file_factor(f));
	output_format(out, "%10s %10s %11s %14s %11s %9s  ", units_bytes(size, (double)f->size),
		      units_bytes(moved, (double)(f->bytes_read + f->bytes_written)),
		      units_seconds(time, digest_file_time(f)), units_count(calls, f->reads + f->writes),
		      units_count(seeks, f->seeks), factor);
	if (upper && f->mpiio.records)
		output_format(out, "%10s %11s  ",
			      units_bytes(moved, (double)(f->mpiio.bytes_read + f->mpiio.bytes_written)),
			      units_seconds(time, digest_interface_time(&f->mpiio)));
	else if (upper)
		output_format(out, "%10s %11s  ", "-", "-");
	put_escaped(out, f->name);
	output_text(out, f->directory ? "/\n" : "\n");
}

static void print_table(struct output *out, const struct digest *d, size_t top)
{
	struct digest_file total = {.name = "all files"};
	bool upper = false;
	for (size_t n = 0; n < d->nfiles; n++)
		upper = upper || d->files[n].mpiio.records;
	output_format(out, "%10s %10s %11s %14s %11s %9s  %s%s\n", "size", "moved", "time", "operations", "seeks",
		      "re-read", upper ? "by MPI-IO        time  " : "", "file");
	for (size_t n = 0; n < d->nfiles; n++) {
		const struct digest_file *f = &d->files[n];
		struct digest_file sum = {.size = total.size + f->size, .read_size = total.read_size + f->read_size};
		digest_add_file(&total, f);
		digest_add_file(&total, &sum);
		if (n < top)
			print_row(out, f, upper);
	}
	print_row(out, &total, upper);
}

static void print_json(const struct digest *d, const char *log, size_t top)
{
	struct json j = {.out = stdout};
	json_document(&j, "files", 1);
	json_text(&j, "log", log);
	json_open(&j, "files", '[');
	for (size_t n = 0; n < d->nfiles && n < top; n++)
		digest_json_file(&j, &d->files[n]);
	json_close(&j);
	json_close(&j);
}

static int print_ways(const struct digest *d)
{
	moved_print(stdout, d);
	return fflush(stdout);
}

static int print_files(const struct request *r)
{
	struct digest d;
	struct log_error err;
	struct output out;
	int code = digest_open(&d, r->log, &err), exit = CLI_OK;
	if (code < 0) {
		cli_log_error(r->log, &err);
		exit = CLI_INPUT;
	} else if (r->json) {
		print_json(&d, r->log, r->top);
		exit = fflush(stdout) == 0 ? CLI_OK : cli_fail(CLI_INPUT, "files: cannot write the table");
	} else if (output_open(&out, 1)) {
		print_table(&out, &d, r->top);
		exit = output_close(&out) == 0 && print_ways(&d) == 0
			       ? CLI_OK
			       : cli_fail(CLI_INPUT, "files: cannot write the table");
	}
	if (exit == CLI_OK && d.damage.code) {
		cli_log_error(r->log, &d.damage);
		exit = CLI_PARTIAL;
	}
	digest_close(&d);
	return exit;
}

static bool set_top(void *target, const struct choice *c, char *text)
{
	struct request *r = target;
	char *end;
	r->top = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && r->top;
}

static const struct choice table[] = {
	{"top", "N", set_top, "only the first N files (default: all)", .expect = "a number above 0"},
	{"json", NULL, choice_flag, "as JSON, with numbers in bytes and seconds", .at = offsetof(struct request, json)},
};

const struct choices files_choices = {
	.command = "files",
	.before = "files [OPTION...] LOG\n\n"
		  "One line per file, over all processes, the one with the most time in I/O first:\n"
		  "size (highest offset seen + 1), bytes moved, time in I/O, reads and writes, seeks, and the re-read "
		  "factor:\n"
		  "bytes read / size of what was read. A factor of 3 means that every byte was read three times.\n"
		  "Numbers are those of the lowest layer that was seen; of files of MPI-IO what was asked of it\n"
		  "stands beside them. A name that ends in / is a directory that was forced to storage.\n"
		  "The last line is the sum over all files.\n"
		  "After it, in logs of iolens, what moved by its way: files, sockets, programs not observed, "
		  "unexplained.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.most = 1,
	.wanted = "give one log",
};

int files_main(int argc, char **argv)
{
	struct request r = {.top = SIZE_MAX};
	int code, at = choices_parse(&files_choices, argc, argv, &r, &code);
	if (at < 0)
		return code;
	r.log = argv[at];
	return print_files(&r);
}
