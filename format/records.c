#include <string.h>

#include "reader.h"

enum {
	BUFFER_SIZE = 262144,
	HEATMAP_BINS_MAX = 8192, /* the runtime's are at most 200, and released readers take 5117 */
};

struct log_records {
	const struct log *log;
	const struct schema_module *schema;
	const struct schema_history *history; /* NULL = current layout */
	struct region region;
	size_t stored_size; /* of the fixed part in this log */
	int64_t nprocs;     /* 0 = unknown */
	uint64_t uncompressed;
	uint8_t *buffer;
	size_t at, end;
	uint8_t *record; /* a converted record; NULL = records are handed out from the buffer */
	int64_t heat_bins;
	double heat_width;
};

static const struct schema_history *find_history(const struct schema_module *m, uint32_t version)
{
	for (const struct schema_history *h = m->history; h && h->version; h++)
		if (h->version == version)
			return h;
	return NULL;
}

static size_t stored_size(const struct schema_module *m, const struct schema_history *h)
{
	size_t size = m->size;
	if (!h)
		return size;
	for (int i = 0; i < h->nmissing; i++)
		size -= 8u * m->fields[h->missing[i].field].count;
	return size + 8u * h->extra_count;
}

static int choose_layout(struct log_records *r, int module, struct log_error *err)
{
	const struct log_container *c = &r->log->container;
	uint32_t version = c->module_version[module];
	r->schema = module < LOG_MOD_COUNT ? &schema_modules[module] : NULL;
	if (!r->schema || !r->schema->version)
		return log_fail(err, LOG_E_UNSUPPORTED, LOG_NOWHERE,
				"records of this module are not decoded by this version");
	if (!version && c->module[module].length)
		return log_fail(err, LOG_E_DAMAGED, LOG_NOWHERE, "record version is 0");
	r->history = find_history(r->schema, version);
	if (version > r->schema->version || (version && version < r->schema->version && !r->history))
		return log_fail(err, LOG_E_UNSUPPORTED, LOG_NOWHERE, "records of an unknown version");
	r->stored_size = stored_size(r->schema, r->history);
	return LOG_OK;
}

static int make_buffers(struct log_records *r, struct log_error *err)
{
	bool converts = r->history || r->schema->layout == LAYOUT_HEATMAP;
	r->buffer = log_alloc.get(BUFFER_SIZE);
	if (converts)
		r->record = log_get(r->schema->size + 16 * (HEATMAP_BINS_MAX + 1));
	if (!r->buffer || (converts && !r->record))
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return LOG_OK;
}

static int open_records(struct log_records *r, int module, struct log_error *err)
{
	struct log *log = (struct log *)r->log;
	const struct log_job *job;
	int code = choose_layout(r, module, err);
	if (code >= 0)
		code = make_buffers(r, err);
	if (code >= 0)
		code = region_open(&r->region, &log->container, &log->source, &log->container.module[module], err);
	if (code >= 0 && log_job(log, &job, NULL) >= 0)
		r->nprocs = job->nprocs;
	return code;
}

int log_records_open(struct log_records **out, struct log *log, int module, struct log_error *err)
{
	*out = NULL;
	if (module < 0 || module >= LOG_MAX_MODULES)
		return log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "no such module");
	struct log_records *r = log_get(sizeof *r);
	if (!r)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	r->log = log;
	int code = open_records(r, module, err);
	if (code < 0)
		log_records_close(r);
	else
		*out = r;
	return code;
}

void log_records_close(struct log_records *r)
{
	if (!r)
		return;
	region_close(&r->region);
	log_put(r->buffer);
	log_put(r->record);
	log_put(r);
}

uint64_t log_records_bytes(const struct log_records *r)
{
	return r->uncompressed;
}

/* Makes n bytes available at r->at. 1 = they are, 0 = the region ends here. */
static int need(struct log_records *r, size_t n, struct log_error *err)
{
	if (r->end - r->at >= n)
		return 1;
	memmove(r->buffer, r->buffer + r->at, r->end - r->at);
	r->end -= r->at;
	r->at = 0;
	while (r->end < n) {
		int64_t got = region_read(&r->region, r->buffer + r->end, BUFFER_SIZE - r->end, err);
		if (got < 0)
			return (int)got;
		if (!got && r->end)
			return log_fail(err, LOG_E_DAMAGED, r->region.at, "region ends within a record");
		if (!got)
			return 0;
		r->end += (size_t)got;
	}
	return 1;
}

static void take(struct log_records *r, size_t n)
{
	r->at += n;
	r->uncompressed += n;
}

static void fill(uint8_t *at, const struct schema_field *f, int64_t value)
{
	double d = (double)value;
	for (int i = 0; i < f->count; i++)
		memcpy(at + 8 * i, f->type == FIELD_F64 ? (void *)&d : (void *)&value, 8);
}

static const struct schema_fill *missing(const struct schema_history *h, int field)
{
	for (int i = 0; i < h->nmissing; i++)
		if (h->missing[i].field == field)
			return &h->missing[i];
	return NULL;
}

/* An old record in the current layout. False: it is to be skipped. */
static bool convert(const struct log_records *r, const uint8_t *old, uint8_t *now)
{
	const struct schema_module *m = r->schema;
	int64_t extra = 0;
	memcpy(now, old, 16);
	old += 16;
	for (int i = 0; i < (int)m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		const struct schema_fill *absent = missing(r->history, i);
		if (absent) {
			fill(now + f->offset, f, absent->value);
			continue;
		}
		memcpy(now + f->offset, old, 8u * f->count);
		old += 8u * f->count;
		if (i == r->history->extra_after) {
			memcpy(&extra, old, sizeof extra);
			old += 8u * r->history->extra_count;
		}
	}
	return !r->history->drop_if_used || extra <= 0;
}

static int next_plain(struct log_records *r, struct log_record *out, struct log_error *err)
{
	for (;;) {
		int code = need(r, r->stored_size, err);
		if (code <= 0)
			return code;
		uint8_t *stored = r->buffer + r->at;
		container_swap(&r->log->container, stored, r->stored_size / 8);
		take(r, r->stored_size);
		out->data = r->history ? r->record : stored;
		out->size = r->schema->size;
		if (!r->history || convert(r, stored, r->record))
			return 1;
	}
}

/* Runtimes 3.4.0 to 3.4.3 could disagree by one bin: the first record decides. */
static int64_t wanted_bins(struct log_records *r, int64_t n, double width)
{
	if (!r->heat_bins) {
		r->heat_bins = n;
		r->heat_width = width;
	}
	bool near = n - r->heat_bins == 1 || r->heat_bins - n == 1;
	return near && width == r->heat_width ? r->heat_bins : n;
}

static void copy_bins(uint8_t *to, int64_t wanted, const uint8_t *from, int64_t n)
{
	size_t common = (size_t)(wanted < n ? wanted : n);
	memset(to, 0, 8 * (size_t)wanted);
	memcpy(to, from, 8 * common);
}

static int next_heatmap(struct log_records *r, struct log_record *out, struct log_error *err)
{
	struct heatmap_record head;
	int code = need(r, sizeof head, err);
	if (code <= 0)
		return code;
	memcpy(&head, r->buffer + r->at, sizeof head);
	container_swap(&r->log->container, &head, sizeof head / 8);
	int64_t n = head.nbins;
	if (n < 0 || n > HEATMAP_BINS_MAX)
		return log_fail(err, LOG_E_DAMAGED, r->region.at, "heat map with an absurd number of bins");
	code = need(r, sizeof head + 16 * (size_t)n, err);
	if (code <= 0)
		return code;
	uint8_t *bins = r->buffer + r->at + sizeof head;
	container_swap(&r->log->container, bins, 2 * (size_t)n);
	take(r, sizeof head + 16 * (size_t)n);
	head.nbins = wanted_bins(r, n, head.bin_width_seconds);
	head.unused[0] = head.unused[1] = 0;
	memcpy(r->record, &head, sizeof head);
	copy_bins(r->record + sizeof head, head.nbins, bins, n);
	copy_bins(r->record + sizeof head + 8 * head.nbins, head.nbins, bins + 8 * n, n);
	out->data = r->record;
	out->size = sizeof head + 16 * (size_t)head.nbins;
	return 1;
}

int log_records_next(struct log_records *r, struct log_record *out, struct log_error *err)
{
	int code = r->schema->layout == LAYOUT_HEATMAP ? next_heatmap(r, out, err) : next_plain(r, out, err);
	if (code <= 0)
		return code;
	out->schema = r->schema;
	memcpy(&out->id, out->data, 8);
	memcpy(&out->rank, (const uint8_t *)out->data + 8, 8);
	if (out->rank < -1 || (r->nprocs > 0 && out->rank >= r->nprocs))
		return log_fail(err, LOG_E_DAMAGED, r->region.at, "record of a rank that the job does not have");
	return 1;
}
