/* Traces (DXT) as a table: one row per access, in the order of the log. */
#include <string.h>

#include "rows.h"

/* In the order in which they are added. */
enum { SEG_ID, SEG_RANK, SEG_HOST, SEG_OPERATION, SEG_OFFSET, SEG_LENGTH, SEG_START, SEG_END, SEG_THREAD };

enum { PIECE = 256 };

struct segment_rows {
	struct rows base;
	struct log_records *records;
	uint64_t id;
	int64_t rank;
	char host[256];
	struct log_segment piece[PIECE];
	int64_t next, end;
	bool in_record;
};

static int segments_form(struct form *f, const struct view *v, struct log *log, struct log_error *err)
{
	const struct schema_module *m = &schema_modules[v->module];
	form_annotate(f, "module", m->key);
	form_annotate(f, "darshan", m->name);
	form_annotate(f, "doc", m->doc);
	form_plain(f, "id", COLUMN_U64, "record id", "Record id: a hash of the name.");
	form_plain(f, "rank", COLUMN_I64, "rank", "Rank of the process.");
	form_add(f, &(struct column_form){.name = "host", .type = COLUMN_TEXT, .nullable = true});
	form_add(f, &(struct column_form){.name = "operation", .type = COLUMN_TEXT});
	form_add(f, &(struct column_form){.name = "offset", .type = COLUMN_I64, .nullable = true, .unit = "offset"});
	form_plain(f, "length", COLUMN_I64, "bytes", "Bytes moved.");
	form_plain(f, "start", COLUMN_F64, "seconds", "Start, since the start of the job.");
	form_plain(f, "end", COLUMN_F64, "seconds", "End, since the start of the job.");
	form_add(f, &(struct column_form){.name = "thread", .type = COLUMN_U64, .nullable = true});
	return LOG_OK;
}

static int segments_open(struct rows *base, const struct form *form, struct log_error *err)
{
	struct segment_rows *r = (struct segment_rows *)base;
	pthread_mutex_lock(&base->handle->lock);
	int code = log_records_open(&r->records, base->handle->log, base->view->module, err);
	pthread_mutex_unlock(&base->handle->lock);
	return code;
}

static void segments_close(struct rows *base)
{
	log_records_close(((struct segment_rows *)base)->records);
}

static void take_record(struct segment_rows *r, const struct log_record *one)
{
	const struct schema_field *host = schema_by_name(one->schema, "hostname");
	size_t n = host ? 8u * host->count : 0;
	r->id = one->id;
	r->rank = one->rank;
	n = n < sizeof r->host ? n : sizeof r->host - 1;
	if (host)
		memcpy(r->host, (const uint8_t *)one->data + host->offset, n);
	r->host[n] = 0;
	r->in_record = true;
}

/* 1 = there is a segment at r->next, 0 = the end. */
static int next_segment(struct segment_rows *r, struct log_error *err)
{
	while (r->next == r->end) {
		struct log_record one;
		int code = rows_allowed(&r->base, log_records_bytes(r->records), err);
		if (code < 0)
			return code;
		int64_t n = r->in_record ? log_segments_next(r->records, r->piece, PIECE, err) : 0;
		if (n < 0)
			return (int)n;
		r->next = 0;
		r->end = n;
		r->in_record = r->in_record && n;
		if (n)
			break;
		code = log_records_next(r->records, &one, err);
		if (code <= 0)
			return code;
		take_record(r, &one);
	}
	return 1;
}

static int put_segment(struct segment_rows *r, struct table *t)
{
	const struct log_segment *s = &r->piece[r->next++];
	const char *operation = s->is_write ? "write" : "read";
	table_set_i64(t, SEG_ID, (int64_t)r->id);
	table_set_i64(t, SEG_RANK, r->rank);
	table_set_i64(t, SEG_LENGTH, s->length);
	table_set_f64(t, SEG_START, s->start);
	table_set_f64(t, SEG_END, s->end);
	table_set_i64(t, SEG_OFFSET, s->offset);
	table_set_i64(t, SEG_THREAD, (int64_t)s->thread);
	int code = table_set_text(t, SEG_OPERATION, operation, strlen(operation));
	if (code >= 0)
		code = *r->host ? table_set_text(t, SEG_HOST, r->host, strlen(r->host)) : table_set_null(t, SEG_HOST);
	if (code >= 0 && s->offset == -1)
		code = table_set_null(t, SEG_OFFSET);
	if (code >= 0 && !s->thread)
		code = table_set_null(t, SEG_THREAD);
	table_grown(t, code >= 0);
	return code;
}

static int segments_fill(struct rows *base, struct table *t, struct log_error *err)
{
	struct segment_rows *r = (struct segment_rows *)base;
	for (;;) {
		int64_t room = table_room(t, 1);
		if (!room)
			return 1;
		int code = room < 0 ? (int)room : next_segment(r, err);
		if (!code)
			return 0;
		if (room > 0 && code < 0)
			return code;
		if (room < 0 || put_segment(r, t) < 0)
			return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	}
}

static int64_t segments_guess(const struct rows *base)
{
	uint64_t stored = log_container(base->handle->log)->module[base->view->module].length;
	return (int64_t)((stored < INT32_MAX ? stored : INT32_MAX) / 8);
}

const struct table_kind kind_segments = {
	.name = "segments",
	.form = segments_form,
	.size = sizeof(struct segment_rows),
	.open = segments_open,
	.fill = segments_fill,
	.close = segments_close,
	.guess = segments_guess,
};
