#include "walk.h"

#include <string.h>

#include "log.h"
#include "trailer.h"

static void walk_records(struct log *log, int module, struct walked *w)
{
	struct log_records *records;
	struct log_record r;
	struct log_error err;
	uint64_t sum = 0;
	if (log_records_open(&records, log, module, &err) < 0) {
		w->errors++;
		return;
	}
	int code;
	while ((code = log_records_next(records, &r, &err)) > 0) {
		const uint8_t *p = r.data;
		struct log_segment segments[64];
		int64_t got = 0;
		while (r.schema->layout == LAYOUT_DXT && (got = log_segments_next(records, segments, 64, &err)) > 0)
			sum += (uint64_t)segments[got - 1].length;
		for (uint32_t i = 0; i < r.schema->nfields; i++) {
			size_t n;
			const uint8_t *array = log_record_array(&r, &r.schema->fields[i], &n);
			sum += array && n ? array[0] + array[8 * n - 1] : 0;
		}
		for (size_t i = 0; i < r.size; i++)
			sum += p[i];
		const char *name = log_name(log, r.id);
		sum += name ? strlen(name) : 0;
		w->records++;
	}
	w->errors += code < 0;
	w->rows += sum == 1; /* keeps the loops above */
	log_records_close(records);
}

static void walk_table(const struct trailer_table *t, struct walked *w)
{
	uint64_t sum = 0;
	for (uint64_t row = 0; row < trailer_rows(t) && row < 1000; row++) {
		for (size_t i = 0; i < trailer_fields(t); i++) {
			const struct trailer_field *f = trailer_field_at(t, i);
			for (uint32_t k = 0; k < f->count && k < 100; k++) {
				size_t n;
				const char *text = trailer_text(t, row, f, k, &n);
				for (size_t c = 0; c < n; c++)
					sum += (uint8_t)text[c];
				sum += (uint64_t)trailer_i64(t, row, f, k) + (trailer_f64(t, row, f, k) > 0);
			}
		}
		w->rows++;
	}
	w->rows += sum == 1;
}

static void walk_trailer(struct log *log, struct walked *w)
{
	struct trailer *t;
	struct trailer_table *table;
	struct log_error err;
	w->errors += trailer_open(&t, log, &err) < 0;
	for (size_t i = 0; i < trailer_count(t); i++) {
		w->errors += trailer_find(t, trailer_at(t, i)->name, &table, &err) < 0;
		walk_table(table, w);
		trailer_free(table);
	}
	trailer_close(t);
}

static void walk_names(struct log *log, struct walked *w)
{
	struct log_error err;
	uint64_t id, sum = 0;
	w->errors += log_names(log, &err) < 0;
	for (size_t i = 0; i < log_names_count(log); i++)
		sum += strlen(log_name_at(log, i, &id)) + id;
	w->rows += sum == 1;
}

struct walked walk_log(const uint8_t *data, size_t size)
{
	struct walked w = {0};
	struct log *log;
	struct log_error err;
	const struct log_job *job;
	log_enable_old();
	log_enable_accesses();
	if (log_open_memory(&log, data, size, &err) < 0)
		return w;
	w.opened = 1;
	if (log_job(log, &job, &err) < 0)
		w.errors++;
	else
		log_mount_of(job, "/data/file");
	log_run_time(log);
	walk_names(log, &w);
	for (int i = 0; i < LOG_MAX_MODULES; i++)
		if (log_container(log)->module[i].length)
			walk_records(log, i, &w);
	walk_trailer(log, &w);
	log_close(log);
	return w;
}
