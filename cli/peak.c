/* iolens peak: what the storage of a directory gives, to hold a job's rates against. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "json.h"
#include "measure.h"
#include "progress.h"
#include "saved_peak.h"
#include "shown.h"
#include "units.h"

enum { SPARE = 4 }; /* of the room that is left, no more than one part in so many is used */

struct request {
	const char *directory, *file;
	double seconds;
	int64_t size;
	bool json, save;
};

static bool set_seconds(void *target, const struct choice *c, char *text)
{
	struct request *r = target;
	char *end;
	r->seconds = strtod(text, &end);
	return end != text && !*end && r->seconds > 0 && r->seconds <= 3600;
}

/* 64M, 1GiB: at least one block */
static bool set_size(void *target, const struct choice *c, char *text)
{
	struct request *r = target;
	static const char units[] = "kmgt";
	char *end;
	double size = strtod(text, &end);
	const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (end == text || (*end && (!unit || (end[1] && strcmp(end + 1, "iB") != 0))))
		return false;
	for (const char *u = unit; u && u >= units; u--)
		size *= 1024;
	r->size = size >= MEASURE_BLOCK && size < 0x1p50 ? (int64_t)size : 0;
	return r->size > 0;
}

static bool set_save(void *target, const struct choice *c, char *text)
{
	struct request *r = target;
	r->save = true;
	r->file = text;
	return !text || (*text && strcmp(text, "-"));
}

static const struct choice table[] = {
	{"seconds", "S", set_seconds, "each of the six parts takes at most this long (default: 2)",
	 .expect = "seconds, above 0"},
	{"size", "BYTES", set_size,
	 "maximum size of the file, as in 512M (default: 1G, at most a quarter of the free space)",
	 .expect = "bytes, as in 64M or 1GiB, at least 1MiB"},
	{"save", "FILE", set_save,
	 "save the result: iolens info compares the rates of jobs on this file system with it\n"
	 "(default: below ~/.cache/iolens)",
	 .optional = true, .expect = "the name of a file; --json prints it"},
	{"json", NULL, choice_flag, "as JSON", .at = offsetof(struct request, json)},
};

static const struct choices peak_choices = {
	.command = "peak",
	.before = "peak [OPTION...] DIRECTORY\n"
		  "\n"
		  "Measures what the storage below DIRECTORY can do for one process on this node: sequential writes "
		  "and reads,\n"
		  "small random reads, and creating, looking up and removing files. All files are removed.\n"
		  "Writes end with fsync. Reads bypass the page cache (O_DIRECT); the output says so if the file "
		  "system does not\n"
		  "allow it. A job of many processes or nodes may get more.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.most = 1,
	.wanted = "give one directory",
};

static double rate(const struct measured *r, bool bytes)
{
	return r->seconds > 0 ? (double)(bytes ? r->bytes : r->count) / r->seconds : 0;
}

static void print_bytes(const char *label, const struct measured *r, const char *how)
{
	printf("%-20s %12s/s  %s%s\n", label, units_bytes((char[UNITS_TEXT]){0}, rate(r, true)),
	       units_bytes((char[UNITS_TEXT]){0}, (double)r->bytes), how);
}

static void print_calls(const char *label, const struct measured *r, const char *what)
{
	printf("%-20s %12s/s  %s%s\n", label, units_count((char[UNITS_TEXT]){0}, (int64_t)rate(r, false)),
	       units_count((char[UNITS_TEXT]){0}, r->count), what);
}

static void put_name(const char *label, const char *name)
{
	printf("%-20s ", label);
	shown_put(stdout, name);
}

static void print_text(const struct saved_peak *p, const struct measurement *m)
{
	const char *past = m->direct ? ", past the page cache" : "; may come from the page cache";
	char reads[96];
	snprintf(reads, sizeof reads, " reads, one at a time%s", past);
	put_name("directory", p->directory);
	put_name("\nfile system", p->point);
	shown_line(stdout, ", %s%s%s", p->type, *p->class ? ", class " : "", p->class);
	print_bytes("sequential write", &m->of[MEASURE_WRITE], " in writes of 1 MiB, with fsync");
	print_bytes("sequential read", &m->of[MEASURE_READ],
		    m->direct ? " in reads of 1 MiB, past the page cache"
			      : " in reads of 1 MiB; may come from the page cache");
	print_calls("random read, 4 KiB", &m->of[MEASURE_RANDOM], reads);
	print_calls("create", &m->of[MEASURE_CREATE], " files in one folder");
	print_calls("stat", &m->of[MEASURE_STAT], " files");
	print_calls("unlink", &m->of[MEASURE_UNLINK], " files");
	if (!strcmp(p->class, "memory"))
		puts("This file system is memory: its rates are those of no disk.");
}

static void print_peak(const struct request *r, const struct saved_peak *p, const struct measurement *m)
{
	struct json j = {.out = stdout};
	if (r->json)
		saved_peak_write(&j, p, m);
	else
		print_text(p, m);
}

static int save(const struct request *r, const struct saved_peak *p, const struct measurement *m)
{
	char path[PATH_MAX];
	if (!saved_peak_path(r->file, p->point, path))
		return cli_fail(CLI_INPUT, "peak: no place to save it: set HOME, or give --save=FILE");
	FILE *out = fopen(path, "w");
	struct json j = {.out = out};
	if (out)
		saved_peak_write(&j, p, m);
	if (!out || fclose(out))
		return cli_fail(CLI_INPUT, "peak: %s: not saved: %s", path, strerror(errno));
	cli_fail(0, "saved as %s", path);
	return CLI_OK;
}

static int64_t room_in(const char *directory, int64_t wanted)
{
	struct statvfs s;
	if (statvfs(directory, &s))
		return wanted;
	double room = (double)s.f_bavail * (double)s.f_frsize / SPARE;
	return room < (double)wanted ? (int64_t)room : wanted;
}

static int peak_main(int argc, char **argv)
{
	struct request r = {.seconds = 2, .size = (int64_t)1 << 30};
	struct measurement m;
	struct saved_peak p;
	struct stat s;
	const char *failed;
	int code, at = choices_parse(&peak_choices, argc, argv, &r, &code);
	if (at < 0)
		return code;
	r.directory = argv[at];
	if (stat(r.directory, &s))
		return cli_fail(CLI_INPUT, "peak: %s: %s", r.directory, strerror(errno));
	if (!S_ISDIR(s.st_mode))
		return cli_fail(CLI_USAGE, "peak: %s: is not a directory: give one on the file system to measure",
				r.directory);
	r.size = room_in(r.directory, r.size);
	if (r.size < MEASURE_BLOCK)
		return cli_fail(CLI_INPUT, "peak: %s: less than 4 MiB are free there: make room", r.directory);
	saved_peak_describe(&p, r.directory);
	progress_begin("measuring", 0);
	int error = measure(r.directory, r.seconds, r.size, &m, &failed);
	progress_end();
	if (error)
		return cli_fail(CLI_INPUT, "peak: %s: cannot %s there: %s", r.directory, failed, strerror(error));
	print_peak(&r, &p, &m);
	return r.save ? save(&r, &p, &m) : CLI_OK;
}

const struct command peak_command = {
	.name = "peak",
	.main = peak_main,
	.group = GROUP_OBSERVE,
	.place = 110,
	.about = "measure what the storage of a directory can do, to compare a job's rates with",
	.choices = &peak_choices,
};
