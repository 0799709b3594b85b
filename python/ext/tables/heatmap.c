/* Heat maps as a long table: one row per interface, rank and bin. */
#include <ctype.h>
#include <string.h>

#include "rows.h"

/* In the order in which they are added. */
enum { HEAT_ID, HEAT_RANK, HEAT_INTERFACE, HEAT_BIN, HEAT_START, HEAT_END, HEAT_READ, HEAT_WRITTEN };

enum { INTERFACE_MAX = 64 };

struct heat_rows {
	struct rows base;
	struct log_records *records;
	struct heatmap_record head; /* of the record at hand */
	char interface[INTERFACE_MAX];
	const uint8_t *bins; /* written, then read; belong to `records` */
	int64_t next, end;
};

static int heat_form(struct form *f, const struct view *v, struct log *log, struct log_error *err)
{
	form_annotate(f, "module", schema_modules[v->module].key);
	form_annotate(f, "darshan", schema_modules[v->module].name);
	form_annotate(f, "doc", schema_modules[v->module].doc);
	form_plain(f, "id", COLUMN_U64, "record id", "Record id.");
	form_plain(f, "rank", COLUMN_I64, "rank", "Rank the bytes are of.");
	form_add(f, &(struct column_form){.name = "interface", .type = COLUMN_TEXT, .nullable = true});
	form_plain(f, "bin", COLUMN_I64, "", "Number of the bin, from 0.");
	form_plain(f, "start", COLUMN_F64, "seconds", "Start of the bin, since the start of the job.");
	form_plain(f, "end", COLUMN_F64, "seconds", "End of the bin.");
	form_plain(f, "bytes_read", COLUMN_I64, "bytes", "Bytes read in the bin.");
	form_plain(f, "bytes_written", COLUMN_I64, "bytes", "Bytes written in the bin.");
	return LOG_OK;
}

static int heat_open(struct rows *base, const struct form *form, struct log_error *err)
{
	struct heat_rows *r = (struct heat_rows *)base;
	pthread_mutex_lock(&base->handle->lock);
	log_names(base->handle->log, NULL);
	int code = log_records_open(&r->records, base->handle->log, base->view->module, err);
	pthread_mutex_unlock(&base->handle->lock);
	return code;
}

static void heat_close(struct rows *base)
{
	log_records_close(((struct heat_rows *)base)->records);
}

/* "heatmap:MPIIO" is of the interface mpiio; without a name there is none. */
static void find_interface(struct heat_rows *r)
{
	const char *name = log_name(r->base.handle->log, r->head.id);
	const char *colon = name ? strchr(name, ':') : NULL;
	const char *from = colon ? colon + 1 : name ? name : "";
	size_t n = 0;
	for (; from[n] && n < INTERFACE_MAX - 1; n++)
		r->interface[n] = (char)tolower((unsigned char)from[n]);
	r->interface[n] = 0;
}

/* 1 = there is a bin to read, 0 = the end. */
static int next_bin(struct heat_rows *r, struct log_error *err)
{
	struct log_record one;
	while (r->next == r->end) {
		int code = rows_allowed(&r->base, log_records_bytes(r->records), err);
		if (code >= 0)
			code = log_records_next(r->records, &one, err);
		if (code <= 0)
			return code;
		memcpy(&r->head, one.data, sizeof r->head);
		r->bins = (const uint8_t *)one.data + sizeof r->head;
		r->next = 0;
		r->end = r->head.nbins;
		find_interface(r);
	}
	return 1;
}

static int64_t bin_at(const struct heat_rows *r, int64_t i)
{
	int64_t v;
	memcpy(&v, r->bins + 8 * i, sizeof v);
	return v;
}

static int put_bin(struct heat_rows *r, struct table *t)
{
	int64_t i = r->next++;
	size_t n = strlen(r->interface);
	table_set_i64(t, HEAT_ID, (int64_t)r->head.id);
	table_set_i64(t, HEAT_RANK, r->head.rank);
	table_set_i64(t, HEAT_BIN, i);
	table_set_f64(t, HEAT_START, (double)i * r->head.bin_width_seconds);
	table_set_f64(t, HEAT_END, (double)(i + 1) * r->head.bin_width_seconds);
	table_set_i64(t, HEAT_WRITTEN, bin_at(r, i));
	table_set_i64(t, HEAT_READ, bin_at(r, r->head.nbins + i));
	int code = n ? table_set_text(t, HEAT_INTERFACE, r->interface, n) : table_set_null(t, HEAT_INTERFACE);
	table_grown(t, code >= 0);
	return code;
}

static int heat_fill(struct rows *base, struct table *t, struct log_error *err)
{
	struct heat_rows *r = (struct heat_rows *)base;
	for (;;) {
		int64_t room = table_room(t, 1);
		if (!room)
			return 1;
		int code = room < 0 ? (int)room : next_bin(r, err);
		if (!code)
			return 0;
		if (room > 0 && code < 0)
			return code;
		if (room < 0 || put_bin(r, t) < 0)
			return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	}
}

const struct table_kind kind_heatmap = {
	.name = "heatmap",
	.form = heat_form,
	.size = sizeof(struct heat_rows),
	.open = heat_open,
	.fill = heat_fill,
	.close = heat_close,
};
