#include "upgrade.h"

#include <string.h>

uint32_t newest_version(int module)
{
	const struct schema_module *m = &schema_modules[module];
	return m->written_version ? m->written_version : m->version;
}

bool newest_is_trace(const struct schema_module *m)
{
	return m->layout == LAYOUT_DXT;
}

int newest_record(struct log_writer *w, const struct schema_module *m, const void *data, size_t size)
{
	uint8_t padded[1024] = {0};
	const struct schema_field *last = m->nfields ? &m->fields[m->nfields - 1] : NULL;
	size_t least = last && !last->count ? m->size + 8u * last->at_least : 0;
	if (size >= least || least > sizeof padded)
		return log_write_record(w, data, size);
	memcpy(padded, data, size);
	return log_write_record(w, padded, least);
}

int newest_segments(struct log_writer *w, struct log_records *records, double shift, struct log_error *err)
{
	enum { AT_ONCE = 256 };
	struct log_segment in[AT_ONCE];
	struct newest_segment out[AT_ONCE];
	int64_t n;
	while ((n = log_segments_next(records, in, AT_ONCE, err)) > 0) {
		for (int64_t i = 0; i < n; i++)
			out[i] = (struct newest_segment){in[i].offset, in[i].length, in[i].start + shift,
							 in[i].end + shift};
		int code = log_write_record(w, out, (size_t)n * sizeof *out);
		if (code < 0)
			return code;
	}
	return (int)n;
}

static int64_t ticks(double seconds)
{
	double t = seconds * ACCESS_RATE;
	return t > -0x1p62 && t < 0x1p62 ? (int64_t)(t < 0 ? t - 0.5 : t + 0.5) : 0;
}

static int add_accesses(struct access_writer *a, struct log_records *records, double shift, struct log_error *err)
{
	enum { AT_ONCE = 256 };
	struct log_segment in[AT_ONCE];
	int64_t n;
	while ((n = log_segments_next(records, in, AT_ONCE, err)) > 0)
		for (int64_t i = 0; i < n; i++) {
			const struct logged_access one = {in[i].offset, in[i].length, ticks(in[i].start + shift),
							  ticks(in[i].end + shift), in[i].thread};
			if (access_add(a, in[i].is_write ? ACCESS_WRITES : ACCESS_READS, &one) < 0)
				return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
		}
	return (int)n;
}

int newest_accesses(struct log_writer *w, struct access_writer *a, struct log_records *records, const void *record,
		    double shift, struct log_error *err)
{
	struct dxt_posix_record r;
	struct log_bytes out = {0};
	memcpy(&r, record, sizeof r);
	struct access_head head = {.id = r.id, .rank = r.rank};
	memcpy(head.host, r.hostname, sizeof r.hostname);
	int code = add_accesses(a, records, shift, err);
	if (code >= 0 && (code = access_end(a, &head, &out)) < 0)
		log_fail(err, code, LOG_NOWHERE, "not enough memory");
	access_forget(a);
	code = code < 0 ? code : log_write_bytes(w, out.at, out.used);
	log_bytes_free(&out);
	return code;
}

struct newest_end newest_end(const struct log *log, const struct log_job *job)
{
	bool whole = log_old_version(log) || log_container(log)->minor < 41;
	return (struct newest_end){job->end, whole && job->end ? 999999999 : job->end_ns};
}
