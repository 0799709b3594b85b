/* What a log says about its job, as tables: the job itself, mounts, metadata, modules, names. */
#include <string.h>

#include "file_system.h"
#include "rows.h"

struct simple_rows {
	struct rows base;
	int64_t next, end;
};

/* One row of a table whose number of rows is known. */
typedef int (*put_row)(struct rows *r, struct table *t, int64_t i);

static int fill_simple(struct rows *base, struct table *t, struct log_error *err, put_row put)
{
	struct simple_rows *r = (struct simple_rows *)base;
	for (; r->next < r->end; r->next++) {
		int64_t room = table_room(t, 1);
		if (!room)
			return 1;
		if (room < 0 || put(base, t, r->next) < 0)
			return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
		table_grown(t, 1);
	}
	return 0;
}

static int put(struct table *t, int added, const char *text)
{
	return text ? table_set_text(t, added, text, strlen(text)) : table_set_null(t, added);
}

static void text_column(struct form *f, const char *name, const char *doc)
{
	struct note note = {"doc", doc};
	form_add(f, &(struct column_form){
			    .name = name, .type = COLUMN_TEXT, .nullable = true, .notes = &note, .nnotes = 1});
}

static int read_job(struct rows *base, const struct log_job **job, struct log_error *err)
{
	pthread_mutex_lock(&base->handle->lock);
	int code = log_job(base->handle->log, job, err);
	pthread_mutex_unlock(&base->handle->lock);
	return code;
}

/* ---- job ---- */

enum { JOB_UID, JOB_ID, JOB_NPROCS, JOB_START, JOB_END, JOB_RUN_TIME, JOB_EXE, JOB_FORMAT, JOB_PARTIAL };

static int job_form(struct form *f, const struct view *v, struct log *log, struct log_error *err)
{
	form_plain(f, "uid", COLUMN_I64, "", "User id.");
	form_plain(f, "job_id", COLUMN_I64, "", "Job id.");
	form_plain(f, "nprocs", COLUMN_I64, "", "Number of processes.");
	form_add(f, &(struct column_form){.name = "start", .type = COLUMN_TIME, .nullable = true});
	form_add(f, &(struct column_form){.name = "end", .type = COLUMN_TIME, .nullable = true});
	form_plain(f, "run_time", COLUMN_F64, "seconds", "From start to end, as Darshan's tools count it.");
	text_column(f, "exe", "Command line.");
	text_column(f, "format", "Version of the log format.");
	form_plain(f, "partial", COLUMN_U64, "", "Bit m: module m is incomplete.");
	return LOG_OK;
}

static int put_time(struct table *t, int added, int64_t seconds, int64_t ns)
{
	int64_t value;
	bool wrong = __builtin_mul_overflow(seconds, 1000000000, &value) || __builtin_add_overflow(value, ns, &value);
	if (!seconds || wrong)
		return table_set_null(t, added);
	table_set_i64(t, added, value);
	return LOG_OK;
}

static int put_job(struct rows *r, struct table *t, int64_t i)
{
	const struct log_job *j;
	const struct log_container *c = log_container(r->handle->log);
	int code = read_job(r, &j, NULL);
	table_set_i64(t, JOB_UID, j->uid);
	table_set_i64(t, JOB_ID, j->id);
	table_set_i64(t, JOB_NPROCS, j->nprocs);
	table_set_f64(t, JOB_RUN_TIME, log_run_time(r->handle->log));
	table_set_i64(t, JOB_PARTIAL, (int64_t)c->partial);
	code = code < 0 ? code : put_time(t, JOB_START, j->start, j->start_ns);
	code = code < 0 ? code : put_time(t, JOB_END, j->end, j->end_ns);
	code = code < 0 ? code : put(t, JOB_EXE, j->exe);
	return code < 0 ? code : put(t, JOB_FORMAT, c->version);
}

static int job_open(struct rows *base, const struct form *form, struct log_error *err)
{
	const struct log_job *job;
	((struct simple_rows *)base)->end = 1;
	return read_job(base, &job, err);
}

static int job_fill(struct rows *base, struct table *t, struct log_error *err)
{
	return fill_simple(base, t, err, put_job);
}

/* ---- mounts, metadata ---- */

static int mounts_form(struct form *f, const struct view *v, struct log *log, struct log_error *err)
{
	text_column(f, "mount", "Mount point.");
	text_column(f, "file_system", "Type of the file system.");
	text_column(f, "class", "What kind of file system that is by its type: lustre, nfs, fuse, local, ...");
	return LOG_OK;
}

static int metadata_form(struct form *f, const struct view *v, struct log *log, struct log_error *err)
{
	text_column(f, "key", "Name of the entry.");
	text_column(f, "value", "Its value.");
	return LOG_OK;
}

static int pairs_open(struct rows *base, const struct form *form, struct log_error *err)
{
	const struct log_job *j;
	int code = read_job(base, &j, err);
	if (code >= 0)
		((struct simple_rows *)base)->end = (int64_t)(base->kind == &kind_mounts ? j->nmounts : j->nmetadata);
	return code;
}

static int put_pair(struct rows *r, struct table *t, int64_t i)
{
	const struct log_job *j;
	int code = read_job(r, &j, NULL);
	const struct log_pair *p = r->kind == &kind_mounts ? j->mounts : j->metadata;
	code = code < 0 ? code : put(t, 0, p[i].key);
	code = code < 0 ? code : put(t, 1, p[i].value);
	if (code < 0 || r->kind != &kind_mounts)
		return code;
	const char *class = file_system_class(p[i].value, NULL);
	return put(t, 2, *class ? class : NULL);
}

static int pairs_fill(struct rows *base, struct table *t, struct log_error *err)
{
	return fill_simple(base, t, err, put_pair);
}

/* ---- modules ---- */

enum { MODULE_ID, MODULE_KEY, MODULE_NAME, MODULE_VERSION, MODULE_STORED, MODULE_PARTIAL };

static int modules_form(struct form *f, const struct view *v, struct log *log, struct log_error *err)
{
	form_plain(f, "id", COLUMN_I64, "", "Module id of format 3.41.");
	text_column(f, "module", "Name of the table in iolens.");
	text_column(f, "darshan", "Name in Darshan.");
	form_plain(f, "version", COLUMN_I64, "", "Version of the records.");
	form_plain(f, "stored", COLUMN_I64, "bytes", "Size in the log.");
	form_plain(f, "partial", COLUMN_I64, "", "1 = records are missing.");
	return LOG_OK;
}

static int modules_open(struct rows *base, const struct form *form, struct log_error *err)
{
	((struct simple_rows *)base)->end = LOG_MAX_MODULES;
	return LOG_OK;
}

static int put_module(struct rows *r, struct table *t, int64_t i)
{
	const struct log_container *c = log_container(r->handle->log);
	table_set_i64(t, MODULE_ID, i);
	table_set_i64(t, MODULE_VERSION, c->module_version[i]);
	table_set_i64(t, MODULE_STORED, (int64_t)c->module[i].length);
	table_set_i64(t, MODULE_PARTIAL, (int64_t)(c->partial >> i & 1));
	int code = put(t, MODULE_KEY, i < LOG_MOD_COUNT ? schema_modules[i].key : NULL);
	return code < 0 ? code : put(t, MODULE_NAME, log_module_name((int)i));
}

static int modules_fill(struct rows *base, struct table *t, struct log_error *err)
{
	struct simple_rows *r = (struct simple_rows *)base;
	const struct log_container *c = log_container(base->handle->log);
	int code = 0;
	for (int64_t i = r->next; i < LOG_MAX_MODULES && !code; i++) {
		r->next = i;
		r->end = i + (c->module[i].length || c->partial >> i & 1);
		code = fill_simple(base, t, err, put_module);
		if (!code)
			r->next = r->end = i + 1;
	}
	return code;
}

/* ---- names ---- */

static int names_form(struct form *f, const struct view *v, struct log *log, struct log_error *err)
{
	form_plain(f, "id", COLUMN_U64, "record id", "Record id.");
	text_column(f, "name", "Its name; bytes that are not UTF-8 as \\xNN.");
	return LOG_OK;
}

static int names_open(struct rows *base, const struct form *form, struct log_error *err)
{
	struct simple_rows *r = (struct simple_rows *)base;
	pthread_mutex_lock(&base->handle->lock);
	log_names(base->handle->log, NULL);
	r->end = (int64_t)log_names_count(base->handle->log);
	pthread_mutex_unlock(&base->handle->lock);
	return LOG_OK;
}

static int put_name(struct rows *r, struct table *t, int64_t i)
{
	uint64_t id;
	const char *name = log_name_at(r->handle->log, (size_t)i, &id);
	table_set_i64(t, 0, (int64_t)id);
	return put(t, 1, name);
}

/* Names before damage are there, and the damage is told after them. */
static int names_fill(struct rows *base, struct table *t, struct log_error *err)
{
	int code = fill_simple(base, t, err, put_name);
	if (code)
		return code;
	pthread_mutex_lock(&base->handle->lock);
	code = log_names(base->handle->log, err);
	pthread_mutex_unlock(&base->handle->lock);
	return code;
}

static int64_t names_guess(const struct rows *base)
{
	return ((const struct simple_rows *)base)->end;
}

const struct table_kind kind_job = {"job", job_form, sizeof(struct simple_rows), job_open, job_fill, NULL, NULL};
const struct table_kind kind_mounts = {"mounts", mounts_form, sizeof(struct simple_rows), pairs_open, pairs_fill,
				       NULL,     NULL};
const struct table_kind kind_metadata = {"metadata", metadata_form, sizeof(struct simple_rows), pairs_open, pairs_fill,
					 NULL,       NULL};
const struct table_kind kind_modules = {"modules", modules_form, sizeof(struct simple_rows), modules_open, modules_fill,
					NULL,      NULL};
const struct table_kind kind_names = {"names", names_form, sizeof(struct simple_rows), names_open, names_fill,
				      NULL,    names_guess};
