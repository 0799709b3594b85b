#include "record.h"

/* No map has bins of that width. */
__thread struct heatmap_near heatmap_near[STATE_HEAT_COUNT] = {[0 ... STATE_HEAT_COUNT - 1] = {.width = -1}};

void heatmap_find(struct state_heat *h, struct heatmap_near *near, enum io_op op, int64_t bytes, double start,
		  double end)
{
	state_heat_add(h, op, bytes, start, end);
	int bin = state_heat_bin(h, end);
	*near = (struct heatmap_near){
		.from = bin * h->width, .until = (bin + 1) * h->width, .width = h->width, .bin = bin};
}
