#include "record.h"

__thread struct heatmap_near heatmap_near[LIVE_HEAT_COUNT];

void heatmap_find(struct live_heat *h, struct heatmap_near *near, enum live_kind kind, int64_t bytes, double start,
		  double end)
{
	live_heat_add(h, kind, bytes, start, end);
	int bin = (int)(end / h->width);
	bin = bin < LIVE_BINS ? bin : LIVE_BINS - 1;
	*near = (struct heatmap_near){
		.from = bin * h->width, .until = (bin + 1) * h->width, .width = h->width, .bin = bin};
}
