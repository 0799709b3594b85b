/* iolens check: does a log hold to the format, and if not, what is wrong where? */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "cli.h"
#include "hash.h"
#include "log.h"
#include "progress.h"
#include "reduce.h"
#include "shown.h"
#include "trailer.h"
#include "units.h"

enum { SHOWN = 20 }; /* faults of one kind that are printed */

struct check {
	const char *path;
	struct log *log;
	const struct log_job *job;
	long faults, damage, notes;
	long records;
};

/* A line on standard output, and not in the line of progress. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	va_list list;
	progress_hide();
	va_start(list, format);
	shown_vline(stdout, format, list);
	va_end(list);
}

static void fault(struct check *c, const char *where, const char *what, long long value)
{
	if (c->faults++ < SHOWN)
		say("%s: %s: %s: %lld", c->path, where, what, value);
}

static void damaged(struct check *c, const char *where, const struct log_error *err)
{
	c->damage++;
	if (err->offset == LOG_NOWHERE)
		say("%s: %s: %s", c->path, where, err->message);
	else
		say("%s: %s: %s at byte %llu", c->path, where, err->message, (unsigned long long)err->offset);
}

/* Times and counts of a sound record are finite; times are not negative but for -1, "not measured". */
static void check_values(struct check *c, const struct log_record *r)
{
	for (uint32_t i = 0; i < r->schema->nfields; i++) {
		const struct schema_field *f = &r->schema->fields[i];
		for (uint32_t n = 0; f->type == FIELD_F64 && n < f->count; n++) {
			double v;
			memcpy(&v, (const char *)r->data + f->offset + 8 * n, sizeof v);
			if (!isfinite(v) || (v < 0 && v != -1))
				fault(c, f->labels && f->nlabels ? f->labels[0].darshan : f->name,
				      "not a time in record", (long long)r->id);
		}
	}
}

static void check_record(struct check *c, const struct log_record *r, const char *module)
{
	c->records++;
	if (r->rank < -1 || r->rank >= c->job->nprocs)
		fault(c, module, "rank beyond the job's", (long long)r->rank);
	if (!r->schema->nameless && !log_name(c->log, r->id))
		fault(c, module, "record without a name", (long long)r->id);
	check_values(c, r);
}

static void check_module(struct check *c, int module)
{
	const struct log_container *k = log_container(c->log);
	const char *name = log_module_name(module);
	struct log_records *records;
	struct log_record r;
	struct log_error err;
	if (k->partial >> module & 1) {
		c->notes++;
		say("%s: %s: incomplete: memory ran out while the job was observed", c->path, name);
	}
	if (!k->module[module].length)
		return;
	int code = log_records_open(&records, c->log, module, &err);
	if (code == LOG_E_UNSUPPORTED) {
		c->notes++;
		say("%s: %s: not decoded by this version", c->path, name);
		return;
	}
	while (code >= 0 && (code = log_records_next(records, &r, &err)) > 0)
		check_record(c, &r, name);
	if (code < 0)
		damaged(c, name, &err);
	log_records_close(records);
}

static void check_trailer(struct check *c)
{
	struct trailer *t;
	struct log_error err;
	if (trailer_open(&t, c->log, &err) < 0) {
		damaged(c, "extension trailer", &err);
		return;
	}
	for (size_t i = 0; t && i < trailer_count(t); i++) {
		struct trailer_table *table;
		if (trailer_find(t, trailer_at(t, i)->name, &table, &err) < 0)
			damaged(c, trailer_at(t, i)->name, &err);
		else
			trailer_free(table);
	}
	if (t)
		trailer_close(t);
}

static int verdict(const struct check *c, bool quiet)
{
	if (c->faults > SHOWN)
		say("%s: %s more", c->path, COUNTED(c->faults - SHOWN, "fault"));
	if (!c->damage && !c->faults && !c->notes && !quiet)
		say("%s: sound: %s, %s", c->path, COUNTED(c->records, "record"),
		    COUNTED(log_names_count(c->log), "name"));
	return c->damage ? CLI_PARTIAL : c->faults || c->notes ? CLI_FINDINGS : CLI_OK;
}

static int check_log(const char *path, bool quiet)
{
	struct check c = {.path = path};
	struct log_error err;
	if (log_open_file(&c.log, path, &err) < 0) {
		cli_log_error(path, &err);
		return CLI_INPUT;
	}
	if (log_job(c.log, &c.job, &err) < 0) {
		cli_log_error(path, &err);
		log_close(c.log);
		return CLI_INPUT;
	}
	if (c.job->nprocs < 1)
		fault(&c, "job", "number of processes", (long long)c.job->nprocs);
	if (log_names(c.log, &err) < 0)
		damaged(&c, log_old_version(c.log) ? "records" : "name table", &err);
	for (int m = 0; m < LOG_MAX_MODULES; m++)
		check_module(&c, m);
	check_trailer(&c);
	int code = verdict(&c, quiet);
	log_close(c.log);
	return code;
}

static int worse(int a, int b)
{
	static const int order[] = {CLI_OK, CLI_FINDINGS, CLI_PARTIAL, CLI_INPUT};
	for (int i = 3; i > 0; i--)
		if (a == order[i] || b == order[i])
			return order[i];
	return CLI_OK;
}

static const struct choice table[] = {
	{"quiet", NULL, choice_flag, "print nothing for logs without faults", .letter = 'q'},
};

static const struct choices check_choices = {
	.command = "check",
	.before = "check [OPTION...] LOG...\n"
		  "\n"
		  "Reads every byte of a log and reports violations of the format, one line each with its location: "
		  "damaged regions,\n"
		  "records without a name, ranks outside the job, impossible values, incomplete modules.\n",
	.after = "Exit codes: 0 sound, 1 faults that leave everything readable, 2 wrong usage, 3 unreadable, 4 partly "
		 "readable.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.wanted = "no log given",
};

static int check_main(int argc, char **argv)
{
	bool quiet = false;
	int code, at = choices_parse(&check_choices, argc, argv, &quiet, &code);
	if (at < 0)
		return code;
	progress_begin("checking logs", (size_t)(argc - at));
	for (int i = at; i < argc; i++) {
		code = worse(code, check_log(argv[i], quiet));
		progress_advance();
	}
	progress_end();
	return code;
}

const struct command check_command = {
	.name = "check",
	.main = check_main,
	.group = GROUP_MAINTAIN,
	.place = 10,
	.about = "whether a log conforms to the format, and if not, what is wrong and where",
	.choices = &check_choices,
	.reads_logs = true,
};
