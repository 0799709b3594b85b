#include "rows.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

static int check_selection(const struct form *f, const struct view *v, struct log_error *err)
{
	for (const char *const *s = v->selection; s && *s; s++) {
		size_t i = 0;
		while (i < f->ncolumns && strcmp(f->columns[i].is.name, *s))
			i++;
		if (i == f->ncolumns)
			return log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "no column ", *s);
	}
	return LOG_OK;
}

/* Of all logs for a section, else of the first, if any. */
static int add_columns(struct form *f, const struct view *v, struct form_logs *logs, struct log_error *err)
{
	size_t last = v->kind == &kind_section && logs->n ? logs->n - 1 : 0;
	int code = LOG_OK;
	for (size_t i = 0; i <= last && code >= 0 && f->failed >= 0; i++) {
		logs->at = i;
		code = v->kind->form(f, v, logs->n ? logs->handles[i]->log : NULL, err);
	}
	return code;
}

static int make_form(struct form **out, const struct view *v, struct form_logs *logs, struct log_error *err)
{
	struct form *f = form_new(v->selection);
	*out = NULL;
	if (!f)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = add_columns(f, v, logs, err);
	if (code >= 0 && v->scan) {
		form_plain(f, "log", COLUMN_I64, "", "Number of the log in the list of paths, from 0.");
		f->log_column = f->slot[f->nadded - 1];
	}
	if (code >= 0 && f->failed < 0)
		code = log_fail(err, f->failed, LOG_NOWHERE, "table has too many columns for the memory there is");
	if (code >= 0)
		code = check_selection(f, v, err);
	f->selection = NULL;
	if (code < 0)
		form_drop(f);
	else
		*out = f;
	return code;
}

/*
 * Forms that no log decides are made once: to describe a module's columns takes longer than to read the records of a
 * small log. Never freed, and found without a lock, which a forked child might find taken.
 */
enum { FORMS_KEPT = 64 };

struct kept_form {
	struct view of;
	struct form *form;
};

static _Atomic(struct kept_form *) kept_forms[FORMS_KEPT];

static bool same_columns(const struct view *a, const struct view *b)
{
	return a->kind == b->kind && a->module == b->module && a->names == b->names && a->mounts == b->mounts &&
	       a->scan == b->scan;
}

static struct form *kept_form(const struct view *v)
{
	const struct kept_form *k;
	for (int i = 0; i < FORMS_KEPT && (k = atomic_load(&kept_forms[i])); i++)
		if (same_columns(&k->of, v))
			return form_hold(k->form);
	return NULL;
}

/* Where there is no room, it is made again each time. Two threads may both have made it: either is as good. */
static void keep_form(const struct view *v, struct form *f)
{
	struct kept_form *k = malloc(sizeof *k), *none = NULL;
	if (!k)
		return;
	*k = (struct kept_form){*v, form_hold(f)};
	k->of.section = NULL;
	for (int i = 0; i < FORMS_KEPT; i++, none = NULL)
		if (atomic_compare_exchange_strong(&kept_forms[i], &none, k))
			return;
	form_drop(f);
	free(k);
}

int view_form(struct form **out, const struct view *v, struct form_logs *logs, struct log_error *err)
{
	bool of_log = v->kind == &kind_section || v->selection;
	if (!of_log && (*out = kept_form(v)))
		return LOG_OK;
	int code = make_form(out, v, logs, err);
	if (code >= 0 && !of_log)
		keep_form(v, *out);
	return code;
}

int rows_open(struct rows **out, const struct view *v, struct handle *h, const struct form *f, struct log_error *err)
{
	struct rows *r = calloc(1, v->kind->size);
	*out = NULL;
	if (!r)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	r->kind = v->kind;
	r->handle = handle_hold(h);
	r->view = v;
	int code = r->kind->open(r, f, err);
	if (code < 0)
		rows_close(r);
	else
		*out = r;
	return code;
}

void rows_close(struct rows *r)
{
	if (!r)
		return;
	if (r->kind->close)
		r->kind->close(r);
	handle_drop(r->handle);
	free(r);
}

/* Of a log of Darshan 1.x and 2.x all modules are one stream. */
int rows_allowed(const struct rows *r, uint64_t unpacked, struct log_error *err)
{
	const struct log *log = r->handle->log;
	const struct log_container *c = log_container(log);
	uint64_t stored = log_old_version(log) ? c->file_size : c->module[r->view->module].length;
	return handle_allows(log, stored, unpacked, err);
}

struct table *rows_table(const struct rows *r, struct form *f, int64_t batch_rows, size_t logs)
{
	int64_t room = r->kind->guess ? r->kind->guess(r) : FIRST_ROOM;
	bool many = room > batch_rows / (int64_t)logs;
	room = many ? batch_rows : room * (int64_t)logs;
	return table_new(f, room < FIRST_ROOM ? FIRST_ROOM : room, batch_rows);
}
