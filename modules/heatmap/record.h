/* Feeding the heat maps: bytes over time, per interface, in the calling thread's shard. */
#ifndef IOLENS_HEATMAP_RECORD_H
#define IOLENS_HEATMAP_RECORD_H

#include "process_state.h"

/* The bin that the calling thread was in last. Its next operation mostly falls into it again: no division, no call. */
struct heatmap_near {
	double from; /* s */
	double until;
	double width; /* of the map's bins when the bin was found */
	int bin;
};

extern __thread struct heatmap_near heatmap_near[STATE_HEAT_COUNT]
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Adds an operation wherever it falls, and remembers the bin of its end. */
void heatmap_find(struct state_heat *h, struct heatmap_near *near, enum io_op op, int64_t bytes, double start,
		  double end);

/* An operation that ended about now, in the bin of the thread's last one; false: that is no bin of the map any more. */
static inline bool heatmap_add_near(struct state_shard *s, enum state_heat_id map, enum io_op op, int64_t bytes)
{
	struct state_heat *h = &s->heat[map];
	struct heatmap_near *near = &heatmap_near[map];
	if (__builtin_expect(h->width != near->width, 0))
		return false;
	struct state_calls *calls = &s->calls[written_of_heat[map]];
	calls->count[op]++;
	calls->bytes[op] += bytes;
	h->bytes[op][near->bin] += bytes;
	return true;
}

static inline void heatmap_add(struct state_shard *s, enum state_heat_id map, enum io_op op, int64_t bytes,
			       double start, double end)
{
	struct state_heat *h = &s->heat[map];
	struct state_calls *calls = &s->calls[written_of_heat[map]];
	calls->count[op]++;
	calls->bytes[op] += bytes;
	struct heatmap_near *near = &heatmap_near[map];
	if (__builtin_expect(start >= near->from && end < near->until && h->width == near->width, 1))
		h->bytes[op][near->bin] += bytes;
	else if (bytes > 0)
		heatmap_find(h, near, op, bytes, start, end);
}

/* When the thread's last operation was. */
static inline double heatmap_latest(enum state_heat_id map)
{
	return heatmap_near[map].from;
}

#endif
