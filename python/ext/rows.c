#include "rows.h"

#include <stdlib.h>
#include <string.h>

static const struct table_kind *const kinds[] = {
	&kind_records, &kind_heatmap,  &kind_segments, &kind_names,   &kind_job,
	&kind_mounts,  &kind_metadata, &kind_modules,  &kind_section,
};

const struct table_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

const struct table_kind *module_kind(int module)
{
	enum record_layout layout =
		module >= 0 && module < LOG_MOD_COUNT ? schema_modules[module].layout : LAYOUT_UNKNOWN;
	return layout == LAYOUT_HEATMAP ? &kind_heatmap : layout == LAYOUT_DXT ? &kind_segments : &kind_records;
}

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

int view_form(struct form **out, const struct view *v, struct log *log, struct log_error *err)
{
	struct form *f = form_new(v->selection);
	*out = NULL;
	if (!f)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = v->kind->form(f, v, log, err);
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
