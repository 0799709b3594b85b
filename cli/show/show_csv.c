/* Records as CSV, a table for each module; one column per counter, arrays of variable length in one cell. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "show.h"

static bool is_column(const struct schema_module *m, const struct schema_field *f)
{
	return strcmp(f->name, "unused") != 0 &&
	       !(m->layout == LAYOUT_DXT && (!f->count || !strcmp(f->name, "shared")));
}

/* Elements with names of their own have columns of their own. */
static bool is_split(const struct schema_field *f)
{
	return f->count > 1 && f->type != FIELD_TEXT && f->type != FIELD_UUID;
}

static void put_names(struct output *o, const struct schema_field *f)
{
	for (int i = 0; is_split(f) && i < f->count; i++)
		if (f->nlabels == f->count)
			output_format(o, ",%s", f->labels[i].name);
		else
			output_format(o, ",%s_%d", f->name, i + 1);
	for (int i = 0; f->element && i < f->element->nfields; i++)
		output_format(o, ",%s.%s", f->name, f->element->fields[i].name);
	if (!is_split(f) && !f->element)
		output_format(o, ",%s", f->name);
}

static void put_text(struct output *o, const struct schema_field *f, const uint8_t *at)
{
	char text[OUTPUT_NUMBER] = {0};
	memcpy(text, at, 8u * f->count < SHOW_TEXT ? 8u * f->count : SHOW_TEXT);
	output_quoted_part(o, text);
}

static void put_value(struct output *o, const struct schema_field *f, const uint8_t *at)
{
	char text[OUTPUT_NUMBER] = {0}, *end;
	double value;
	if (f->type == FIELD_TEXT) {
		output_text(o, "\"");
		put_text(o, f, at);
		output_text(o, "\"");
		return;
	}
	if (f->type == FIELD_UUID) {
		for (int i = 0; i < 8 * f->count; i++)
			output_format(o, "%02x", at[i]);
		return;
	}
	memcpy(&value, at, sizeof value);
	end = f->type == FIELD_F64 ? put_exact(text, value) : show_value(text, f->type, at);
	if (f->type != FIELD_F64 || value - value == 0)
		output_bytes(o, text, (size_t)(end - text));
}

/* One cell for a member of all elements, with blanks between. */
static void put_members(struct output *o, const struct schema_field *member, const uint8_t *at, size_t n, size_t step)
{
	bool text = member->type == FIELD_TEXT;
	output_text(o, text ? ",\"" : ",");
	for (size_t i = 0; i < n; i++) {
		output_text(o, i ? " " : "");
		if (text)
			put_text(o, member, at + i * step);
		else
			put_value(o, member, at + i * step);
	}
	output_text(o, text ? "\"" : "");
}

static void put_array(struct output *o, const struct log_record *r, const struct schema_field *f)
{
	static const struct schema_field number = {.type = FIELD_I64, .count = 1};
	size_t n;
	const uint8_t *at = log_record_array(r, f, &n);
	if (!f->element)
		put_members(o, &number, at, n, 8);
	for (int i = 0; f->element && i < f->element->nfields; i++)
		put_members(o, &f->element->fields[i], at + f->element->fields[i].offset, n, f->element->size);
}

static void put_counter(struct output *o, const struct log_record *r, const struct schema_field *f)
{
	bool known = log_record_has(r, f);
	if (!f->count) {
		put_array(o, r, f);
		return;
	}
	for (int i = 0; i < (is_split(f) ? f->count : 1); i++) {
		output_text(o, ",");
		if (known)
			put_value(o, f, (const uint8_t *)r->data + f->offset + 8 * i);
	}
}

static void put_record(struct show *s, struct output *o, const struct log_record *r)
{
	const char *name = log_name(s->log, r->id);
	const struct log_pair *mount = name && s->job ? log_mount_of(s->job, name) : NULL;
	output_format(o, "%s,%llu,%lld,", r->schema->key, (unsigned long long)r->id, (long long)r->rank);
	output_quoted(o, name ? name : "");
	output_text(o, ",");
	output_quoted(o, mount ? mount->key : "");
	output_text(o, ",");
	output_quoted(o, mount ? mount->value : "");
	for (uint32_t i = 0; i < r->schema->nfields; i++)
		if (is_column(r->schema, &r->schema->fields[i]))
			put_counter(o, r, &r->schema->fields[i]);
	output_text(o, "\n");
}

static void put_table(struct show *s, struct output *o, int module, struct log_records *records)
{
	const struct schema_module *m = &schema_modules[module];
	struct log_record r;
	struct log_error err;
	int code;
	output_text(o, "module,id,rank,name,mount,file_system");
	for (uint32_t i = 0; i < m->nfields; i++)
		if (is_column(m, &m->fields[i]))
			put_names(o, &m->fields[i]);
	output_text(o, "\n");
	while ((code = log_records_next(records, &r, &err)) > 0 && !o->error)
		if (show_wants(s, &r))
			put_record(s, o, &r);
	if (code < 0)
		show_error(s, log_module_name(module), &err);
}

/* Who may not read the log may not read its tables. */
static mode_t readers_of(const struct show *s)
{
	struct stat log;
	return stat(s->path, &log) == 0 ? 0600 | (log.st_mode & 0044) : 0600;
}

/* DIR as export makes it: for those who may read the log. */
static bool make_folder(struct show *s)
{
	mode_t readers = readers_of(s);
	if (!s->folder || mkdir(s->folder, 0700 | readers | (readers & 0044) >> 2) == 0 || errno == EEXIST)
		return true;
	s->exit = cli_fail(CLI_INPUT, "show: %s: %s", s->folder, strerror(errno));
	return false;
}

/* Under a name of its own until it is whole. */
static void put_file(struct show *s, int module, struct log_records *records)
{
	char path[4096], part[4096 + 32];
	struct output out;
	snprintf(path, sizeof path, "%s/%s.csv", s->folder, schema_modules[module].key);
	snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid());
	int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, readers_of(s)), failed = errno;
	if (fd >= 0 && output_open(&out, fd)) {
		put_table(s, &out, module, records);
		failed = output_close(&out);
		failed = close(fd) && !failed ? errno : failed;
		failed = !failed && rename(part, path) ? errno : failed;
		fd = failed ? -1 : fd;
	}
	if (fd < 0) {
		unlink(part);
		s->exit = cli_fail(CLI_INPUT, "show: %s: %s", path, strerror(failed));
	}
}

static void put_module(struct show *s, int module, bool first)
{
	struct log_records *records;
	struct log_error err;
	int code = log_records_open(&records, s->log, module, &err);
	if (code < 0)
		show_error(s, log_module_name(module), &err);
	else if (s->folder)
		put_file(s, module, records);
	else {
		output_text(&s->out, first ? "" : "\n");
		put_table(s, &s->out, module, records);
	}
	log_records_close(records);
	if (log_container(s->log)->partial >> module & 1 && !(s->parts & SHOW_INCOMPLETE)) {
		output_flush(&s->out);
		s->exit = cli_fail(CLI_PARTIAL, "%s: %s module is incomplete; --show-incomplete makes this no error",
				   s->path, log_module_name(module));
	}
}

void show_csv(struct show *s)
{
	bool first = true;
	if (!make_folder(s))
		return;
	for (int i = 0; i < LOG_MAX_MODULES && s->exit != CLI_INPUT && !s->out.error; i++) {
		if (!log_container(s->log)->module[i].length || !filter_module(&s->filter, i))
			continue;
		put_module(s, i, first);
		first = false;
	}
}
