#include "interval_union.h"

#include <stdlib.h>

#include "alloc.h"

static int by_time(const void *a, const void *b)
{
	const struct interval_edge *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->enters - y->enters;
}

/* What is going on between two edges. */
struct active {
	long whole; /* segments that are busy all the time */
	long partly;
	double idle; /* product of the idle shares of the others */
	double rate[IO_OPS];
};

static double busy_share(const struct state_segment *s)
{
	double sum = 0;
	for (int k = 0; k < IO_OPS; k++)
		sum += s->busy[k];
	return sum / (s->end - s->start);
}

static void change(struct active *a, const struct state_segment *s, int sign)
{
	double share = busy_share(s);
	if (share > 1 - 1e-9) {
		a->whole += sign;
	} else {
		a->partly += sign;
		a->idle = !a->partly ? 1 : sign > 0 ? a->idle * (1 - share) : a->idle / (1 - share);
	}
	for (int k = 0; k < IO_OPS; k++)
		a->rate[k] += sign * s->busy[k] / (s->end - s->start);
}

static void pass(struct interval_union *o, const struct active *a, double seconds)
{
	double rate = 0, share = a->whole > 0 ? 1 : 1 - a->idle;
	for (int k = 0; k < IO_OPS; k++)
		rate += a->rate[k] > 0 ? a->rate[k] : 0;
	if (rate <= 0 || share <= 0)
		return;
	o->total += seconds * share;
	for (int k = 0; k < IO_OPS; k++)
		o->by_op[k] += a->rate[k] > 0 ? seconds * share * a->rate[k] / rate : 0;
}

struct interval_union interval_union_of(const struct state_segment *segments, size_t n, struct interval_edge *scratch)
{
	struct interval_union o = {0};
	struct active a = {.idle = 1};
	size_t edges = 0;
	for (size_t i = 0; i < n; i++) {
		const struct state_segment *s = &segments[i];
		if (!(s->end > s->start) || !(s->end - s->start < 1e30))
			continue;
		scratch[edges++] = (struct interval_edge){s->start, s, 1};
		scratch[edges++] = (struct interval_edge){s->end, s, -1};
	}
	log_sort(scratch, edges, sizeof *scratch, by_time);
	for (size_t i = 0; i < edges; i++) {
		change(&a, scratch[i].segment, scratch[i].enters);
		if (i + 1 < edges)
			pass(&o, &a, scratch[i + 1].at - scratch[i].at);
	}
	return o;
}
