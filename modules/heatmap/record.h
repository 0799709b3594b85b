/* Feeding the heat maps: bytes over time, per interface, in the calling thread's shard. */
#ifndef IOLENS_HEATMAP_RECORD_H
#define IOLENS_HEATMAP_RECORD_H

#include "live.h"

static inline void heatmap_add(struct live_shard *s, enum live_heat_id map, enum live_kind kind, int64_t bytes,
			       double start, double end)
{
	if (bytes > 0)
		live_heat_add(&s->heat[map], kind, bytes, start, end);
}

#endif
