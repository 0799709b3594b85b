/* iolens files: one line per file, the longest in I/O first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "digest.h"
#include "units.h"

static const char help[] =
	"usage: iolens files [--top N] LOG\n"
	"\n"
	"One line per file, over all processes and interfaces, the one with the most time in I/O first:\n"
	"size (highest offset seen + 1), bytes moved, seconds in I/O, operations, seeks, and the re-read factor:\n"
	"bytes read / size of what was read. A factor of 3 means that every byte was read three times.\n"
	"\n"
	"  --top N  only the first N files (default: all)\n";

static void print_row(const struct digest_file *f)
{
	char size[UNITS_TEXT], moved[UNITS_TEXT], time[UNITS_TEXT], calls[UNITS_TEXT], seeks[UNITS_TEXT],
		factor[16] = "-";
	if (f->read_size > 0)
		snprintf(factor, sizeof factor, "%.2f", (double)f->bytes_read / (double)f->read_size);
	printf("%10s %10s %11s %12s %9s %8s  %s\n", units_bytes(size, (double)f->size),
	       units_bytes(moved, (double)(f->bytes_read + f->bytes_written)), units_seconds(time, digest_file_time(f)),
	       units_count(calls, f->reads + f->writes), units_count(seeks, f->seeks), factor, f->name);
}

static int print_table(const char *path, size_t top)
{
	struct digest d;
	struct log_error err;
	int code = digest_open(&d, path, &err);
	if (code < 0) {
		cli_log_error(path, &err);
	} else {
		printf("%10s %10s %11s %12s %9s %8s  %s\n", "size", "moved", "time", "operations", "seeks", "re-read",
		       "file");
		for (size_t n = 0; n < d.nfiles && n < top; n++)
			print_row(&d.files[n]);
	}
	digest_close(&d);
	return code < 0 ? CLI_INPUT : CLI_OK;
}

int files_main(int argc, char **argv)
{
	size_t top = (size_t)-1;
	const char *path = NULL;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(help, stdout);
			return CLI_OK;
		}
		if (strcmp(argv[i], "--top") == 0 && i + 1 < argc && atoll(argv[i + 1]) > 0)
			top = (size_t)atoll(argv[++i]);
		else if (argv[i][0] == '-' || path)
			return cli_fail(CLI_USAGE, "files: unexpected \"%s\": see iolens files --help", argv[i]);
		else
			path = argv[i];
	}
	return path ? print_table(path, top) : cli_fail(CLI_USAGE, "files: no log given: see iolens files --help");
}
