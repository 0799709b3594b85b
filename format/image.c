#include "image.h"

#include <string.h>

#include "alloc.h"
#include "reader.h"

/*
 * A row of `n` bytes, or NULL. Never on the stack: it may be a megabyte, and the thread that calls exit a small one. It is
 * aligned as in the store, which is more than an allocator promises.
 */
static struct live *load_row(struct image *i, const struct trailer_entry *e, size_t n, struct log_error *err)
{
	const size_t align = _Alignof(struct live);
	i->row = log_alloc.get(n + align);
	struct live *row = (struct live *)(((uintptr_t)i->row + align - 1) / align * align);
	if (!i->row)
		log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return i->row && trailer_read_row(i->trailer, e, 0, row, n, err) >= 0 ? row : NULL;
}

/* Of a damaged store any bits may be a time: what no job can have lived through is none. */
static void mend_time(double *t)
{
	if (!(*t > -1e9 && *t < 1e9))
		*t = 0;
}

static void mend_shard(struct live_shard *s)
{
	mend_time(&s->timeline.gap);
	for (uint32_t k = 0; k < s->timeline.used && k < LIVE_SEGMENTS; k++) {
		struct live_segment *segment = &s->timeline.segment[k];
		mend_time(&segment->start);
		mend_time(&segment->end);
		for (int kind = 0; kind < LIVE_KINDS; kind++)
			mend_time(&segment->busy[kind]);
	}
	for (int h = 0; h < LIVE_HEAT_COUNT; h++)
		mend_time(&s->heat[h].width);
}

static void mend_times(struct live *live, size_t shards)
{
	struct live_process *p = &live->process;
	double *const times[] = {&p->start, &p->end, &p->mpi_start, &p->mpi_end};
	for (size_t n = 0; n < sizeof times / sizeof *times; n++)
		mend_time(times[n]);
	for (size_t n = 0; n < shards; n++)
		mend_shard(&live->shard[n]);
}

/* The shards that were used, after what lies before them. */
static int load_used(struct image *i, const struct trailer_entry *e, struct log_error *err)
{
	struct {
		uint64_t version, size, shards;
	} head;
	_Static_assert(offsetof(struct live, process) == sizeof head, "what a row begins with");
	int code = trailer_read_row(i->trailer, e, 0, &head, sizeof head, err);
	if (code < 0)
		return code;
	i->shards = head.shards < LIVE_SHARDS ? head.shards : LIVE_SHARDS;
	if (head.version != LIVE_VERSION || head.size != sizeof(struct live))
		return log_fail(err, LOG_E_VERSION, LOG_NOWHERE, "store of another version of iolens");
	if (i->own) {
		i->live = (const struct live *)(i->log->source.memory + e->offset + e->schema);
		return 0;
	}
	struct live *live = load_row(i, e, offsetof(struct live, shard) + i->shards * sizeof(struct live_shard), err);
	if (live)
		mend_times(live, i->shards);
	i->live = live;
	return live ? 0 : err->code;
}

int image_load_live(struct image *i, struct log_error *err)
{
	int code = i->trailer ? 0 : trailer_open(&i->trailer, i->log, err);
	const struct trailer_entry *e = code < 0 ? NULL : trailer_entry_named(i->trailer, "live");
	if (code < 0)
		return code;
	if (!e || e->row_size != sizeof(struct live))
		return log_fail(err, LOG_E_DAMAGED, LOG_NOWHERE, "no store of this version of iolens");
	return load_used(i, e, err);
}

int image_open_file(struct image *i, const char *path, struct log_error *err)
{
	*i = (struct image){0};
	return log_open_file(&i->log, path, err);
}

int image_open_memory(struct image *i, const void *data, size_t size, struct log_error *err)
{
	*i = (struct image){0};
	return log_open_memory(&i->log, data, size, err);
}

int image_open_own(struct image *i, const void *store, size_t size, struct log_error *err)
{
	int code = image_open_memory(i, store, size, err);
	i->own = true;
	return code;
}

void image_drop_live(struct image *i)
{
	log_put(i->row);
	i->row = NULL;
	i->live = NULL;
}

void image_close(struct image *i)
{
	image_drop_live(i);
	if (i->trailer)
		trailer_close(i->trailer);
	if (i->log)
		log_close(i->log);
	*i = (struct image){0};
}

#define EACH_SHARD(i, s) for (const struct live_shard *s = (i)->live->shard; s < (i)->live->shard + (i)->shards; s++)

struct live_class image_class(const struct image *i, int class)
{
	struct live_class sum = {0};
	EACH_SHARD(i, s) {
		sum.opens += s->class[class].opens;
		for (int k = 0; k < 2; k++) {
			sum.calls[k] += s->class[class].calls[k];
			sum.bytes[k] += s->class[class].bytes[k];
		}
	}
	return sum;
}

struct live_operation image_operation(const struct image *i, int operation)
{
	struct live_operation sum = {0};
	EACH_SHARD(i, s) {
		sum.count += s->operation[operation].count;
		sum.errors += s->operation[operation].errors;
		sum.bytes += s->operation[operation].bytes;
		sum.time += s->operation[operation].time;
	}
	return sum;
}

struct live_sizes image_sizes(const struct image *i, int way, int kind)
{
	struct live_sizes sum = {0};
	EACH_SHARD(i, s)
		for (int c = 0; c < LIVE_SIZES; c++) {
			sum.count[c] += s->sizes[way][kind].count[c];
			sum.bytes[c] += s->sizes[way][kind].bytes[c];
		}
	return sum;
}

struct live_completion image_completion(const struct image *i, int way, int kind)
{
	struct live_completion sum = {0};
	EACH_SHARD(i, s) {
		const struct live_completion *c = &s->completion[way][kind];
		sum.count += c->count;
		sum.errors += c->errors;
		sum.bytes += c->bytes;
		sum.wait += c->wait;
		sum.span += c->span;
	}
	return sum;
}

bool image_heat(const struct image *i, int heat, double until, struct live_heat *out)
{
	bool any = false;
	*out = (struct live_heat){0};
	live_heat_cover(out, until);
	EACH_SHARD(i, s) {
		struct live_heat one = s->heat[heat];
		if (!(one.width > 0))
			continue;
		live_heat_cover(&one, until);
		for (int b = 0; b < LIVE_BINS; b++)
			for (int k = 0; k < 2; k++) {
				out->bytes[k][b] += one.bytes[k][b];
				any = any || one.bytes[k][b];
			}
	}
	return any;
}

static uint32_t segments_of(const struct live_shard *s)
{
	return s->timeline.used < LIVE_SEGMENTS ? s->timeline.used : LIVE_SEGMENTS;
}

int image_threads(const struct image *i)
{
	int n = 0;
	EACH_SHARD(i, s)
		n += segments_of(s) > 0;
	return n;
}

int image_occupancy(const struct image *i, struct occupancy *out)
{
	size_t n = 0, at = 0;
	EACH_SHARD(i, s)
		n += segments_of(s);
	struct live_segment *all = log_get((n + 1) * sizeof *all);
	struct occupancy_edge *scratch = log_get((2 * n + 1) * sizeof *scratch);
	if (all && scratch) {
		EACH_SHARD(i, s)
			for (uint32_t k = 0; k < segments_of(s) && at < n; k++)
				all[at++] = s->timeline.segment[k];
		*out = occupancy_union(all, at, scratch);
	}
	int code = all && scratch ? 0 : LOG_E_MEMORY;
	log_put(all);
	log_put(scratch);
	return code;
}

double image_last(const struct image *i)
{
	double last = i->live->process.end;
	EACH_SHARD(i, s)
		if (segments_of(s) && s->timeline.segment[segments_of(s) - 1].end > last)
			last = s->timeline.segment[segments_of(s) - 1].end;
	return last;
}
