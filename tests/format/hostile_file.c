/*
 * A log written again with a text in front of every text that it has: names of files, command, metadata, mounts, and of the
 * trailer every cell, and one section with such names of its own. Usage: OLD NEW TEXT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "section_copy.h"
#include "upgrade.h"

enum { PAIRS = 64 };

static const char *hostile;

static char *made(const char *text)
{
	char *new = malloc(strlen(hostile) + strlen(text) + 1);
	return strcat(strcpy(new, hostile), text);
}

static const char *change(void *context, const struct trailer_field *f, const char *text, char *room)
{
	snprintf(room, SECTION_TEXT, "%s%s", hostile, text);
	return room;
}

static void must(int code, const char *what)
{
	if (code >= 0)
		return;
	fprintf(stderr, "%s: %d\n", what, code);
	exit(1);
}

static void write_job(struct log_writer *w, const struct log_job *j)
{
	struct log_pair metadata[PAIRS] = {{made("key"), made("value")}}, mounts[PAIRS];
	size_t n = j->nmounts < PAIRS ? j->nmounts : PAIRS;
	for (size_t i = 0; i < n; i++)
		mounts[i] = (struct log_pair){i ? made(j->mounts[i].key) : "/", made(j->mounts[i].value)};
	const struct log_job_text text = {.uid = j->uid,
					  .start = j->start,
					  .end = j->end + 1,
					  .nprocs = j->nprocs,
					  .id = j->id,
					  .lib_ver = made("iolens"),
					  .exe = made(j->exe),
					  .metadata = metadata,
					  .nmetadata = 1,
					  .mounts = mounts,
					  .nmounts = n};
	must(log_write_job(w, &text), "job");
}

static void write_names(struct log_writer *w, struct log *log)
{
	for (size_t i = 0; i < log_names_count(log); i++) {
		uint64_t id;
		const char *name = log_name_at(log, i, &id);
		char *new = made(name);
		memmove(new + 1, new, strlen(hostile)); /* a path, too, begins with a slash */
		*new = '/';
		must(log_write_name(w, id, new), "name");
		free(new);
	}
}

static void write_module(struct log_writer *w, struct log *log, int module)
{
	struct log_records *records;
	struct log_record r;
	struct log_error err;
	if (!log_container(log)->module[module].length || schema_modules[module].layout != LAYOUT_PLAIN)
		return;
	must(log_records_open(&records, log, module, &err), "records");
	must(log_write_module(w, module, newest_version(module)), "module");
	while (log_records_next(records, &r, &err) > 0)
		must(newest_record(w, r.schema, r.data, r.size), "record");
	log_records_close(records);
}

static void write_section(struct log_writer *w, const char *name, const struct trailer_table *t)
{
	struct trailer_section s;
	must(section_like(&s, name, t), name);
	for (uint64_t row = 0; row < trailer_rows(t); row++)
		must(section_copy_row(&s, t, row, change, NULL), name);
	must(log_write_section(w, &s), name);
	section_free(&s);
}

/* What no version of iolens writes, and each reads. */
static void write_own(struct log_writer *w)
{
	struct trailer_section s;
	must(section_begin(&s, "\x1b]0;T\a", "\x1b]0;T\a str \x9bm\n"), "schema");
	section_row(&s);
	section_set_text(&s, "\x1b]0;T\a", 0, hostile);
	must(log_write_section(w, &s), "section");
	section_free(&s);
}

int main(int argc, char **argv)
{
	struct log *log;
	struct log_writer *w;
	struct trailer *trailer;
	const struct log_job *job;
	struct log_error err;
	if (argc != 4)
		return 2;
	hostile = argv[3];
	must(log_open_file(&log, argv[1], &err), argv[1]);
	must(log_job(log, &job, &err), "job");
	must(log_names(log, &err), "names");
	must(log_writer_file(&w, argv[2], &err), argv[2]);
	write_job(w, job);
	write_names(w, log);
	for (int m = 0; m < LOG_MOD_COUNT; m++)
		write_module(w, log, m);
	must(trailer_open(&trailer, log, &err), "trailer");
	for (size_t i = 0; i < trailer_count(trailer); i++) {
		struct trailer_table *t;
		const char *name = trailer_at(trailer, i)->name;
		if (!strcmp(name, "accesses") || trailer_find(trailer, name, &t, &err) < 0 || !t)
			continue;
		write_section(w, name, t);
		trailer_free(t);
	}
	write_own(w);
	must(log_writer_finish(w, &err), argv[2]);
	return 0;
}
