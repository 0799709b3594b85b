#include "summary.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "digest.h"
#include "json.h"
#include "units.h"

enum { TOP_FILES = 5, TOP_OPERATIONS = 4, TEXT_WIDTH = 90 };

#define B(n) units_bytes((char[UNITS_TEXT]){0}, (double)(n))
#define N(n) units_count((char[UNITS_TEXT]){0}, n)
#define S(t) units_seconds((char[UNITS_TEXT]){0}, t)

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void print_time(FILE *out, const struct digest *d)
{
	fprintf(out, "  run time        %s, %s process%s\n", S(d->run_time), N(d->processes),
		d->processes == 1 ? "" : "es");
	fprintf(out, "  time in I/O     %s = %.1f %% of the run time", S(d->io.total),
		percent(d->io.total, d->run_time));
	fprintf(out, " (read %.1f, write %.1f, metadata %.1f %%)\n", percent(d->io.by_kind[LIVE_READ], d->run_time),
		percent(d->io.by_kind[LIVE_WRITE], d->run_time), percent(d->io.by_kind[LIVE_META], d->run_time));
}

static void print_direction(FILE *out, const char *verb, int64_t bytes, int64_t calls, double time)
{
	fprintf(out, "%s %s in %s call%s", verb, B(bytes), N(calls), calls == 1 ? "" : "s");
	if (time > 0 && bytes > 0)
		fprintf(out, " at %s/s", B((double)bytes / time));
}

static void print_interfaces(FILE *out, const struct digest *d)
{
	for (int i = 0; i < DIGEST_INTERFACES; i++) {
		const struct digest_interface *f = &d->interface[i];
		if (!f->records)
			continue;
		fprintf(out, "  %-14s  ", f->name);
		print_direction(out, "read", f->bytes_read, f->reads, f->read_time);
		print_direction(out, "; wrote", f->bytes_written, f->writes, f->write_time);
		fputc('\n', out);
	}
}

static void print_operations(FILE *out, const struct digest *d)
{
	fprintf(out, "  metadata        %.1f %% of the time in I/O", percent(d->io.by_kind[LIVE_META], d->io.total));
	for (size_t o = 0; o < d->noperations && o < TOP_OPERATIONS; o++)
		fprintf(out, "%s %s %s", o ? "," : ":", N(d->operation[o].count), d->operation[o].name);
	fputc('\n', out);
}

static void print_small(FILE *out, const struct digest *d)
{
	if (d->accesses)
		fprintf(out, "  small accesses  %.1f %% of %s reads and writes move at most 10 KiB (posix)\n",
			percent((double)d->small, (double)d->accesses), N(d->accesses));
}

static void print_classes(FILE *out, const struct digest *d)
{
	bool any = false;
	for (size_t c = 0; c < d->nclasses; c++) {
		const struct digest_class *k = &d->class[c];
		if (!k->bytes_read && !k->bytes_written)
			continue;
		fprintf(out, "%s%s", any ? "; " : "  beside files    ", k->name);
		if (k->bytes_read)
			fprintf(out, " read %s", B(k->bytes_read));
		if (k->bytes_written)
			fprintf(out, "%s wrote %s", k->bytes_read ? "," : "", B(k->bytes_written));
		any = true;
	}
	if (any)
		fputc('\n', out);
}

static void print_unseen(FILE *out, const struct digest *d)
{
	fprintf(out, "  unseen          read %s, wrote %s beyond what the calls above moved", B(d->unseen_read),
		B(d->unseen_written));
	if (d->unseen_unknown)
		fprintf(out, "; unknown for %s process%s that did not end normally", N(d->unseen_unknown),
			d->unseen_unknown == 1 ? "" : "es");
	fputc('\n', out);
	if (d->folded_opens)
		fprintf(out, "  folded          %s opens went to <other files>: raise IOLENS_BUDGET (MiB)\n",
			N(d->folded_opens));
}

/* The end of a long path tells more than its beginning. */
static const char *tail_of(const char *name, size_t width)
{
	size_t n = strlen(name);
	return n > width ? name + n - width : name;
}

static void print_files(FILE *out, const struct digest *d)
{
	if (!d->nfiles)
		return;
	fprintf(out, "  top files of %s by time\n", N((int64_t)d->nfiles));
	for (size_t n = 0; n < d->nfiles && n < TOP_FILES; n++) {
		const struct digest_file *f = &d->files[n];
		const char *name = tail_of(f->name, TEXT_WIDTH - 48);
		fprintf(out, "    %10s  read %10s  wrote %10s  %s%s\n", S(digest_file_time(f)), B(f->bytes_read),
			B(f->bytes_written), name == f->name ? "" : "...", name);
	}
}

static int fail_log(const char *log, const struct log_error *err)
{
	cli_log_error(log, err);
	return CLI_INPUT;
}

int summary_print(FILE *out, const char *log)
{
	struct digest d;
	struct log_error err;
	int code = digest_open(&d, log, &err);
	if (code >= 0) {
		fprintf(out, "\niolens: %.*s\n", TEXT_WIDTH, d.job->exe);
		print_time(out, &d);
		print_interfaces(out, &d);
		print_small(out, &d);
		print_operations(out, &d);
		print_classes(out, &d);
		print_unseen(out, &d);
		print_files(out, &d);
		fprintf(out, "  log             %s\n", log);
	}
	digest_close(&d);
	return code < 0 ? fail_log(log, &err) : 0;
}

/* ---- the same as JSON ---- */

static void json_interfaces(struct json *j, const struct digest *d)
{
	json_open(j, "interfaces", '{');
	for (int i = 0; i < DIGEST_INTERFACES; i++) {
		const struct digest_interface *f = &d->interface[i];
		if (!f->records)
			continue;
		json_open(j, f->name, '{');
		json_i64(j, "records", f->records);
		json_i64(j, "reads", f->reads);
		json_i64(j, "writes", f->writes);
		json_i64(j, "bytes_read", f->bytes_read);
		json_i64(j, "bytes_written", f->bytes_written);
		json_f64(j, "read_time", f->read_time);
		json_f64(j, "write_time", f->write_time);
		json_f64(j, "meta_time", f->meta_time);
		json_close(j);
	}
	json_close(j);
}

static void json_beside(struct json *j, const struct digest *d)
{
	json_open(j, "excluded", '{');
	for (size_t c = 0; c < d->nclasses; c++) {
		json_open(j, d->class[c].name, '{');
		json_i64(j, "opens", d->class[c].opens);
		json_i64(j, "calls", d->class[c].calls);
		json_i64(j, "bytes_read", d->class[c].bytes_read);
		json_i64(j, "bytes_written", d->class[c].bytes_written);
		json_close(j);
	}
	json_close(j);
	json_open(j, "operations", '{');
	for (size_t o = 0; o < d->noperations; o++) {
		json_open(j, d->operation[o].name, '{');
		json_i64(j, "count", d->operation[o].count);
		json_f64(j, "time", d->operation[o].time);
		json_close(j);
	}
	json_close(j);
	json_i64(j, "unseen_read", d->unseen_read);
	json_i64(j, "unseen_written", d->unseen_written);
	json_i64(j, "folded_opens", d->folded_opens);
}

static void json_file(struct json *j, const struct digest_file *f)
{
	json_open(j, NULL, '{');
	json_text(j, "name", f->name);
	json_text(j, "file_system", f->file_system);
	json_i64(j, "size", f->size);
	json_i64(j, "reads", f->reads);
	json_i64(j, "writes", f->writes);
	json_i64(j, "opens", f->opens);
	json_i64(j, "seeks", f->seeks);
	json_i64(j, "bytes_read", f->bytes_read);
	json_i64(j, "bytes_written", f->bytes_written);
	json_f64(j, "read_time", f->read_time);
	json_f64(j, "write_time", f->write_time);
	json_f64(j, "meta_time", f->meta_time);
	json_close(j);
}

static void json_digest(struct json *j, const struct digest *d, const char *log)
{
	json_open(j, NULL, '{');
	json_text(j, "log", log);
	json_text(j, "command", d->job->exe);
	json_i64(j, "processes", d->processes);
	json_f64(j, "run_time", d->run_time);
	json_f64(j, "io_time", d->io.total);
	json_f64(j, "io_read_time", d->io.by_kind[LIVE_READ]);
	json_f64(j, "io_write_time", d->io.by_kind[LIVE_WRITE]);
	json_f64(j, "io_meta_time", d->io.by_kind[LIVE_META]);
	json_i64(j, "small_accesses", d->small);
	json_i64(j, "accesses", d->accesses);
	json_interfaces(j, d);
	json_beside(j, d);
	json_open(j, "files", '[');
	for (size_t n = 0; n < d->nfiles; n++)
		json_file(j, &d->files[n]);
	json_close(j);
	json_close(j);
}

int summary_json(const char *file, const char *log)
{
	struct digest d;
	struct log_error err;
	if (digest_open(&d, log, &err) < 0) {
		digest_close(&d);
		return fail_log(log, &err);
	}
	FILE *out = fopen(file, "w");
	if (out) {
		struct json j = {.out = out};
		json_digest(&j, &d, log);
	}
	int failed = !out || fclose(out) != 0;
	digest_close(&d);
	return failed ? cli_fail(CLI_INPUT, "run: %s: cannot write the summary: %s", file, strerror(errno)) : 0;
}
