#include "live.h"

#include <string.h>

#define FIRST_WIDTH 0.1 /* s */

static void heat_halve(struct live_heat *h)
{
	for (int kind = 0; kind < 2; kind++) {
		int64_t *b = h->bytes[kind];
		for (int i = 0; i < LIVE_BINS / 2; i++)
			b[i] = b[2 * i] + b[2 * i + 1];
		memset(b + LIVE_BINS / 2, 0, sizeof *b * (LIVE_BINS / 2));
	}
	h->width *= 2;
}

void live_heat_cover(struct live_heat *h, double until)
{
	if (h->width <= 0)
		h->width = FIRST_WIDTH;
	while (until > h->width * LIVE_BINS && h->width < 1e30)
		heat_halve(h);
}

static int64_t nearest(double v)
{
	return (int64_t)(v + 0.5);
}

static int bin_of(const struct live_heat *h, double t)
{
	int i = (int)(t / h->width);
	return i < 0 ? 0 : i >= LIVE_BINS ? LIVE_BINS - 1 : i;
}

static void heat_spread(struct live_heat *h, int64_t *b, int64_t bytes, double start, double end)
{
	double per_second = (double)bytes / (end - start);
	int last = bin_of(h, end);
	for (int i = bin_of(h, start); i <= last; i++) {
		double from = i * h->width;
		double to = from + h->width;
		from = from < start ? start : from;
		to = to > end ? end : to;
		if (to > from)
			b[i] += nearest(per_second * (to - from));
	}
}

void live_heat_add(struct live_heat *h, enum live_kind kind, int64_t bytes, double start, double end)
{
	if (!(end <= h->width * LIVE_BINS) || h->width <= 0)
		live_heat_cover(h, end);
	int first = bin_of(h, start);
	if (end < (first + 1) * h->width || !(end > start))
		h->bytes[kind][first] += bytes;
	else
		heat_spread(h, h->bytes[kind], bytes, start, end);
}

/* Halves the number of segments; from then on operations join over gaps that the eye would not see. */
static void timeline_compress(struct live_timeline *t)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i + 1 < t->used; i += 2) {
		struct live_segment s = t->segment[i];
		s.end = t->segment[i + 1].end;
		for (int k = 0; k < LIVE_KINDS; k++)
			s.busy[k] += t->segment[i + 1].busy[k];
		t->segment[kept++] = s;
	}
	t->used = kept;
	t->compressed++;
	double span = t->segment[kept - 1].end - t->segment[0].start;
	double gap = span / (4 * LIVE_SEGMENTS);
	t->gap = gap > 2 * t->gap ? gap : 2 * t->gap;
}

static double segment_busy(const struct live_segment *s)
{
	double sum = 0;
	for (int k = 0; k < LIVE_KINDS; k++)
		sum += s->busy[k];
	return sum;
}

/* An operation that began before the last segment ended holds inner ones (MPI-IO around POSIX): only what they left is new. */
static void timeline_cover(struct live_timeline *t, enum live_kind kind, double start, double end)
{
	struct live_segment all = {.start = start, .end = end};
	double known = 0;
	while (t->used && t->segment[t->used - 1].start >= start) {
		struct live_segment *s = &t->segment[--t->used];
		known += segment_busy(s);
		for (int k = 0; k < LIVE_KINDS; k++)
			all.busy[k] += s->busy[k];
		all.end = s->end > all.end ? s->end : all.end;
	}
	struct live_segment *before = t->used ? &t->segment[t->used - 1] : NULL;
	if (before && before->end > start) {
		double part = (before->end - start) / (before->end - before->start);
		known += part * segment_busy(before);
		all.start = before->start;
		all.end = before->end > all.end ? before->end : all.end;
		for (int k = 0; k < LIVE_KINDS; k++)
			all.busy[k] += before->busy[k];
		t->used--;
	}
	if (end - start > known)
		all.busy[kind] += end - start - known;
	t->segment[t->used++] = all;
}

void live_timeline_add(struct live_timeline *t, enum live_kind kind, double start, double end)
{
	if (!(end >= start))
		return;
	struct live_segment *s = t->used ? &t->segment[t->used - 1] : NULL;
	if (s && start < s->end) {
		timeline_cover(t, kind, start, end);
		return;
	}
	if (!s || start - s->end > t->gap) {
		if (t->used >= LIVE_SEGMENTS)
			timeline_compress(t);
		s = &t->segment[t->used++];
		*s = (struct live_segment){.start = start};
	}
	s->busy[kind] += end - start;
	s->end = end;
}
