/* Records of variable size: their fixed part says how many elements stand behind it. No such number is trusted. */
#include "decode.h"

enum {
	HEATMAP_BINS_MAX = 8192, /* the runtime's are at most 200, and released readers take 5117 */
	ARRAYS_MAX = 1 << 22,    /* bytes behind one record; released readers take 81920 */
	SEGMENTS_PER_STEP = 4096,
};

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

int arrays_next_heatmap(struct log_records *r, struct log_record *out, struct log_error *err)
{
	struct heatmap_record head;
	int code = decode_need(r, sizeof head, err);
	if (code <= 0)
		return code;
	memcpy(&head, r->buffer + r->at, sizeof head);
	container_swap(&r->log->container, &head, sizeof head / 8);
	int64_t n = head.nbins;
	if (n < 0 || n > HEATMAP_BINS_MAX)
		return log_fail(err, LOG_E_DAMAGED, r->region.at, "heat map with an absurd number of bins");
	code = decode_rest(r, sizeof head + 16 * (size_t)n, err);
	if (code >= 0)
		code = decode_room(r, sizeof head + 16 * (size_t)(n + 1), err);
	if (code < 0)
		return code;
	uint8_t *bins = r->buffer + r->at + sizeof head;
	container_swap(&r->log->container, bins, 2 * (size_t)n);
	decode_take(r, sizeof head + 16 * (size_t)n);
	head.nbins = wanted_bins(r, n, head.bin_width_seconds);
	head.unused[0] = head.unused[1] = 0;
	memcpy(r->record, &head, sizeof head);
	copy_bins(r->record + sizeof head, head.nbins, bins, n);
	copy_bins(r->record + sizeof head + 8 * head.nbins, head.nbins, bins + 8 * n, n);
	out->data = r->record;
	out->size = sizeof head + 16 * (size_t)head.nbins;
	return 1;
}

/* ---- arrays of numbers and of structs ---- */

static size_t element_size(const struct schema_field *f)
{
	return f->element ? f->element->size : 8;
}

static size_t stored_element_size(const struct log_records *r, const struct schema_field *f)
{
	if (r->history && r->history->made >= 0 && &r->schema->fields[r->history->made] == f)
		return 0;
	return f->element ? convert_element_size(f->element, r->history) : 8;
}

struct extent {
	size_t stored, converted; /* bytes of all arrays of a record */
};

/* Elements of the array that are stored, or a negative code. */
static int64_t count_elements(const struct log_records *r, const struct schema_field *f, struct log_error *err)
{
	int64_t n = decode_i64(r->record, &r->schema->fields[f->length]);
	if (n < 0 || n > ARRAYS_MAX / 8)
		return log_fail(err, LOG_E_DAMAGED, r->region.at, r->schema->name,
				" record with an absurd number of elements");
	return n < f->at_least ? f->at_least : n;
}

static int measure_arrays(const struct log_records *r, struct extent *e, struct log_error *err)
{
	*e = (struct extent){0};
	for (uint32_t i = 0; i < r->schema->nfields; i++) {
		const struct schema_field *f = &r->schema->fields[i];
		int64_t n = f->count ? 0 : count_elements(r, f, err);
		if (n < 0)
			return (int)n;
		e->stored += (size_t)n * (f->count ? 0 : stored_element_size(r, f));
		e->converted += (size_t)n * (f->count ? 0 : element_size(f));
	}
	if (e->converted > ARRAYS_MAX)
		return log_fail(err, LOG_E_DAMAGED, r->region.at, r->schema->name,
				" record with an absurd number of elements");
	return LOG_OK;
}

static void convert_array(const struct log_records *r, const struct schema_field *f, size_t n, const uint8_t *stored,
			  uint8_t *now)
{
	if (!f->element) {
		memcpy(now, stored, 8 * n);
		container_swap(&r->log->container, now, n);
		return;
	}
	size_t step = stored_element_size(r, f);
	for (size_t i = 0; i < n; i++)
		convert_element(r, f->element, stored + i * step, now + i * f->element->size);
}

/* Behind the fixed part, in order of the fields. Elements beyond the length, stored without need, are left out. */
static size_t convert_arrays(const struct log_records *r, const uint8_t *stored)
{
	size_t at = r->schema->size;
	for (uint32_t i = 0; i < r->schema->nfields; i++) {
		const struct schema_field *f = &r->schema->fields[i];
		if (f->count)
			continue;
		size_t n = (size_t)decode_i64(r->record, &r->schema->fields[f->length]);
		size_t there = n < f->at_least ? f->at_least : n;
		convert_array(r, f, n, stored, r->record + at);
		stored += there * stored_element_size(r, f);
		at += n * element_size(f);
	}
	return at;
}

/*
 * A runtime's memory may hold unused components; the first has stripe size -1. The targets stand behind all of them.
 * Returns the record's size or a negative code.
 */
static int64_t tidy_lustre(struct log_records *r, struct log_error *err)
{
	struct lustre_record head;
	struct lustre_component c;
	memcpy(&head, r->record, sizeof head);
	uint8_t *components = r->record + sizeof head;
	const uint8_t *targets = components + (size_t)head.num_components * sizeof c;
	int64_t used = 0, stripes = 0;
	for (; used < head.num_components; used++) {
		memcpy(&c, components + (size_t)used * sizeof c, sizeof c);
		if (c.stripe_size == -1)
			break;
		if (c.stripe_count < 0 || c.stripe_count > head.num_stripes - stripes)
			return log_fail(err, LOG_E_DAMAGED, r->region.at,
					"LUSTRE record whose components have more stripes than it");
		stripes += c.stripe_count;
	}
	head.num_components = used;
	head.num_stripes = stripes;
	memcpy(r->record, &head, sizeof head);
	memmove(components + (size_t)used * sizeof c, targets, 8 * (size_t)stripes);
	return (int64_t)(sizeof head + (size_t)used * sizeof c + 8 * (size_t)stripes);
}

int arrays_next(struct log_records *r, struct log_record *out, struct log_error *err)
{
	struct extent e;
	int code = decode_need(r, r->stored_size, err);
	if (code <= 0)
		return code;
	convert_record(r, r->buffer + r->at, r->record);
	code = measure_arrays(r, &e, err);
	if (code >= 0)
		code = decode_rest(r, r->stored_size + e.stored, err);
	if (code >= 0)
		code = decode_room(r, r->schema->size + e.converted, err);
	if (code < 0)
		return code;
	int64_t size = (int64_t)convert_arrays(r, r->buffer + r->at + r->stored_size);
	decode_take(r, r->stored_size + e.stored);
	if (r->schema->layout == LAYOUT_LUSTRE)
		size = tidy_lustre(r, err);
	if (size < 0)
		return (int)size;
	out->data = r->record;
	out->size = (size_t)size;
	return 1;
}

const void *log_record_array(const struct log_record *r, const struct schema_field *f, size_t *n)
{
	const uint8_t *at = (const uint8_t *)r->data + r->schema->size;
	const uint8_t *end = (const uint8_t *)r->data + r->size;
	for (const struct schema_field *g = r->schema->fields; g <= f; g++) {
		if (g->count)
			continue;
		size_t there = (size_t)decode_i64(r->data, &r->schema->fields[g->length]);
		if (there > (size_t)(end - at) / element_size(g))
			there = 0; /* handed out in pieces */
		*n = there;
		if (g == f)
			return at;
		at += there * element_size(g);
	}
	*n = 0;
	return NULL;
}

/* ---- traces: any number of segments, handed out in pieces ---- */

static const struct schema_element *segment_of(const struct schema_module *m)
{
	return m->fields[m->nfields - 1].element;
}

/* What was not asked for. */
static int skip_segments(struct log_records *r, struct log_error *err)
{
	for (int i = 0; i < 2; i++) {
		while (r->segments[i]) {
			int64_t n = r->segments[i] < SEGMENTS_PER_STEP ? r->segments[i] : SEGMENTS_PER_STEP;
			int code = decode_rest(r, (size_t)n * r->segment_size, err);
			if (code < 0)
				return code;
			decode_take(r, (size_t)n * r->segment_size);
			r->segments[i] -= n;
		}
	}
	return LOG_OK;
}

int arrays_next_traced(struct log_records *r, struct log_record *out, struct log_error *err)
{
	struct dxt_posix_record head;
	int code = skip_segments(r, err);
	if (code >= 0)
		code = decode_need(r, r->stored_size, err);
	if (code <= 0)
		return code;
	convert_record(r, r->buffer + r->at, r->record);
	decode_take(r, r->stored_size);
	memcpy(&head, r->record, sizeof head);
	if (head.writes < 0 || head.reads < 0 || head.writes > INT64_MAX - head.reads)
		return log_fail(err, LOG_E_DAMAGED, r->region.at, r->schema->name,
				" record with an absurd number of segments");
	r->segment_size = convert_element_size(segment_of(r->schema), r->history);
	r->segments[0] = head.writes;
	r->segments[1] = head.reads;
	out->data = r->record;
	out->size = sizeof head;
	return 1;
}

int64_t log_segments_next(struct log_records *r, struct log_segment *out, size_t n, struct log_error *err)
{
	struct dxt_posix_segment s;
	if (r->accesses)
		return traced_segments(r, out, n, err);
	bool reads = !r->segments[0];
	int64_t left = r->segments[reads];
	n = n < SEGMENTS_PER_STEP ? n : SEGMENTS_PER_STEP;
	n = (uint64_t)left < n ? (size_t)left : n;
	if (!n)
		return 0;
	int code = decode_rest(r, n * r->segment_size, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < n; i++) {
		convert_element(r, segment_of(r->schema), r->buffer + r->at + i * r->segment_size, (uint8_t *)&s);
		out[i] = (struct log_segment){s.offset, s.length, s.start, s.end, s.thread, !reads};
	}
	decode_take(r, n * r->segment_size);
	r->segments[reads] -= (int64_t)n;
	return (int64_t)n;
}
