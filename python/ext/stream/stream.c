#include "stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
	atomic_int refs;
	struct view view;
	struct view_texts *texts;
	struct form *form;
	int64_t batch_rows;
	char *path;
	struct rows *rows; /* of a single log */
	struct scan *scan; /* of many */
	bool ended;
	struct log_error error;
	const char *error_path;
	char message[512];
};

/* ---- the view with texts of its own ---- */

struct view_texts {
	char *section;
	char **selection;
};

static void free_texts(struct view_texts *t)
{
	for (char **s = t ? t->selection : NULL; s && *s; s++)
		free(*s);
	if (t) {
		free(t->selection);
		free(t->section);
	}
	free(t);
}

static int copy_texts(struct stream *s, const struct stream_spec *spec)
{
	size_t n = 0;
	s->texts = calloc(1, sizeof *s->texts);
	if (!s->texts)
		return LOG_E_MEMORY;
	s->texts->section = strdup(spec->section ? spec->section : "");
	s->view.section = s->texts->section;
	if (!spec->selection)
		return s->texts->section ? LOG_OK : LOG_E_MEMORY;
	while (spec->selection[n])
		n++;
	s->texts->selection = calloc(n + 1, sizeof *s->texts->selection);
	if (!s->texts->selection)
		return LOG_E_MEMORY;
	for (size_t i = 0; i < n; i++)
		if (!(s->texts->selection[i] = strdup(spec->selection[i])))
			return LOG_E_MEMORY;
	s->view.selection = (const char *const *)s->texts->selection;
	return s->texts->section ? LOG_OK : LOG_E_MEMORY;
}

static int make(struct stream **out, const struct stream_spec *spec, bool scan, struct form_logs *logs,
		struct log_error *err)
{
	struct stream *s = calloc(1, sizeof *s);
	if (!s)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	atomic_init(&s->refs, 1);
	s->view = (struct view){
		.kind = spec->kind, .module = spec->module, .names = spec->names, .mounts = spec->mounts, .scan = scan};
	s->batch_rows = spec->batch_rows;
	int code = copy_texts(s, spec);
	if (code < 0)
		log_fail(err, code, LOG_NOWHERE, "not enough memory");
	else
		code = view_form(&s->form, &s->view, logs, err);
	if (code < 0)
		stream_drop(s);
	else
		*out = s;
	return code;
}

int stream_of_log(struct stream **out, struct handle *h, const char *path, const struct stream_spec *spec,
		  struct log_error *err)
{
	struct stream *s;
	*out = NULL;
	int code = make(&s, spec, false, &(struct form_logs){&h, 1, 0}, err);
	if (code < 0)
		return code;
	s->path = strdup(path);
	code = rows_open(&s->rows, &s->view, h, s->form, err);
	if (code < 0)
		stream_drop(s);
	else
		*out = s;
	return code;
}

int stream_of_logs(struct stream **out, const struct scan_spec *logs, struct form_logs *form_logs,
		   const struct stream_spec *spec, struct log_error *err)
{
	struct stream *s;
	*out = NULL;
	int code = make(&s, spec, true, form_logs, err);
	if (code < 0)
		return code;
	struct scan_spec scan = *logs;
	scan.batch_rows = s->batch_rows;
	scan.view = &s->view;
	scan.form = s->form;
	code = scan_open(&s->scan, &scan, err);
	if (code < 0)
		stream_drop(s);
	else
		*out = s;
	return code;
}

void stream_stop(struct stream *s)
{
	if (s && s->scan)
		scan_stop(s->scan);
}

void stream_drop(struct stream *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	scan_close(s->scan);
	rows_close(s->rows);
	form_drop(s->form);
	free_texts(s->texts);
	free(s->path);
	free(s);
}

struct form *stream_form(const struct stream *s)
{
	return s->form;
}

/* Rows before damage come first; the damage is remembered for the next call. */
static int next_of_log(struct stream *s, struct table **out)
{
	struct table *t = rows_table(s->rows, s->form, s->batch_rows, 1);
	if (!t)
		return log_fail(&s->error, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = s->rows->kind->fill(s->rows, t, &s->error);
	s->ended = code <= 0;
	s->error_path = s->path;
	if (t->rows && s->error.code != LOG_E_MEMORY) {
		*out = t;
		return LOG_OK;
	}
	table_drop(t);
	return code < 0 ? code : LOG_OK;
}

int stream_next(struct stream *s, struct table **out, struct log_error *err, const char **path)
{
	*out = NULL;
	if (s->scan && !s->error.code)
		scan_next(s->scan, out, &s->error, &s->error_path);
	else if (!s->scan && !s->ended)
		next_of_log(s, out);
	if (*out || !s->error.code)
		return LOG_OK;
	if (err)
		*err = s->error;
	if (path)
		*path = s->error_path;
	return s->error.code;
}

size_t stream_failures(struct stream *s, struct log_failure *out, size_t room)
{
	if (s->scan)
		return scan_failures(s->scan, out, room);
	if (s->error.code && room)
		*out = (struct log_failure){0, s->error};
	return s->error.code != 0;
}

/* ---- as Arrow ---- */

static int arrow_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	struct stream *s = stream->private_data;
	return form_export(s->form, out);
}

static int error_number(const struct log_error *e)
{
	if (e->code == LOG_E_IO)
		return e->system ? e->system : EIO;
	return e->code == LOG_E_MEMORY ? ENOMEM : EINVAL;
}

static void compose(struct stream *s, const struct log_error *e, const char *path)
{
	char where[48] = "";
	if (e->offset != LOG_NOWHERE)
		snprintf(where, sizeof where, " (at byte %llu)", (unsigned long long)e->offset);
	snprintf(s->message, sizeof s->message, "%.300s: %s%s", path ? path : "", e->message, where);
}

static int arrow_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct stream *s = stream->private_data;
	struct table *t;
	struct log_error err;
	const char *path;
	*out = (struct ArrowArray){0};
	if (stream_next(s, &t, &err, &path) < 0) {
		compose(s, &err, path);
		return error_number(&err);
	}
	return t ? table_export(t, out) : 0;
}

static const char *arrow_error(struct ArrowArrayStream *stream)
{
	struct stream *s = stream->private_data;
	return *s->message ? s->message : NULL;
}

static void arrow_release(struct ArrowArrayStream *stream)
{
	stream_stop(stream->private_data);
	stream_drop(stream->private_data);
	stream->release = NULL;
}

void stream_export(struct stream *s, struct ArrowArrayStream *out)
{
	atomic_fetch_add(&s->refs, 1);
	*out = (struct ArrowArrayStream){
		.get_schema = arrow_schema,
		.get_next = arrow_next,
		.get_last_error = arrow_error,
		.release = arrow_release,
		.private_data = s,
	};
}
