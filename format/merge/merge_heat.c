/* Heat maps of logs that began at different times, or ran for different times, in the same bins. */
#include <string.h>

#include "merging.h"

enum { BINS = 200 /* of a runtime's heat maps, at most */ };

struct seen {
	bool any, differ;
	struct heatmap_record first;
	double width; /* the largest */
};

static void see_map(struct seen *s, const struct log_record *r)
{
	struct heatmap_record h;
	memcpy(&h, r->data, sizeof h);
	if (!s->any)
		s->first = h;
	s->any = true;
	s->differ |= h.nbins != s->first.nbins || h.bin_width_seconds != s->first.bin_width_seconds;
	if (h.bin_width_seconds > s->width && h.bin_width_seconds < 1e9)
		s->width = h.bin_width_seconds;
}

static int see_part(struct merging *g, const struct merge_part *p, struct seen *s)
{
	struct log *log;
	struct log_records *records;
	struct log_record r;
	int code = merging_open(g, p, &log);
	if (code < 0)
		return code;
	code = log_records_open(&records, log, LOG_MOD_HEATMAP, g->err);
	while (code >= 0 && (code = log_records_next(records, &r, g->err)) > 0)
		see_map(s, &r);
	log_records_close(records);
	log_close(log);
	return code;
}

int merge_heat_plan(struct merging *g, struct merge_heat *h)
{
	struct seen s = {0};
	int code = 0;
	for (size_t i = 0; code >= 0 && i < g->nparts; i++)
		if (g->parts[i].modules >> LOG_MOD_HEATMAP & 1)
			code = see_part(g, &g->parts[i], &s);
	double seconds = (double)g->length / 1e9;
	*h = (struct merge_heat){.same = !s.differ && !g->shifted, .width = s.width > 0 ? s.width : 0.1};
	while (h->width * BINS < seconds)
		h->width *= 2;
	h->bins = (int64_t)(seconds / h->width);
	h->bins += (double)h->bins * h->width < seconds;
	h->bins = h->bins < 1 ? 1 : h->bins > BINS ? BINS : h->bins;
	return code;
}

/* The bytes of a bin, evenly over the bins that it lies in; none is lost by rounding. */
static void spread(const struct merge_heat *h, int64_t *to, int64_t bytes, double from, double until)
{
	int64_t given = 0;
	double width = until - from;
	int64_t bin = (int64_t)(from / h->width), last = (int64_t)(until / h->width);
	bin = bin < 0 ? 0 : bin >= h->bins ? h->bins - 1 : bin;
	last = last >= h->bins ? h->bins - 1 : last;
	for (; bin < last && width > 0; bin++) {
		double part = ((double)(bin + 1) * h->width - from) / width;
		int64_t due = (int64_t)((double)bytes * (part < 0 ? 0 : part > 1 ? 1 : part) + 0.5);
		to[bin] += due - given;
		given = due;
	}
	to[bin] += bytes - given;
}

size_t merge_heat_record(const struct merge_heat *h, const struct log_record *r, double shift, uint8_t *out)
{
	struct heatmap_record head;
	int64_t to[2 * BINS] = {0}, bytes;
	memcpy(&head, r->data, sizeof head);
	double width = head.bin_width_seconds > 0 && head.bin_width_seconds < 1e9 ? head.bin_width_seconds : h->width;
	const uint8_t *from = (const uint8_t *)r->data + sizeof head;
	for (int64_t k = 0; k < 2 * head.nbins; k++) {
		int64_t bin = k % head.nbins;
		memcpy(&bytes, from + 8 * k, sizeof bytes);
		if (bytes)
			spread(h, to + (k / head.nbins) * h->bins, bytes, shift + (double)bin * width,
			       shift + (double)(bin + 1) * width);
	}
	head.nbins = h->bins;
	head.bin_width_seconds = h->width;
	memcpy(out, &head, sizeof head);
	memcpy(out + sizeof head, to, 16 * (size_t)h->bins);
	return sizeof head + 16 * (size_t)h->bins;
}
