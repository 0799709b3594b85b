#include "process_state.h"

#include <stdbool.h>
#include <string.h>

#include "schema.h"

#define FIRST_WIDTH 0.1 /* s */

static void heat_halve(struct state_heat *h)
{
	for (int op = 0; op < 2; op++) {
		int64_t *b = h->bytes[op];
		for (int i = 0; i < STATE_BINS / 2; i++)
			b[i] = b[2 * i] + b[2 * i + 1];
		memset(b + STATE_BINS / 2, 0, sizeof *b * (STATE_BINS / 2));
	}
	h->width *= 2;
}

void state_heat_cover(struct state_heat *h, double until)
{
	if (h->width <= 0)
		h->width = FIRST_WIDTH;
	while (until > h->width * STATE_BINS && h->width < 1e30)
		heat_halve(h);
}

static int64_t nearest(double v)
{
	return (int64_t)(v + 0.5);
}

int state_heat_bin(const struct state_heat *h, double t)
{
	double at = t / h->width;
	return at >= STATE_BINS - 1 ? STATE_BINS - 1 : at > 0 ? (int)at : 0; /* of what is no number, too */
}

static void heat_spread(struct state_heat *h, int64_t *b, int64_t bytes, double start, double end)
{
	double per_second = (double)bytes / (end - start);
	int last = state_heat_bin(h, end);
	for (int i = state_heat_bin(h, start); i <= last; i++) {
		double from = i * h->width;
		double to = from + h->width;
		from = from < start ? start : from;
		to = to > end ? end : to;
		if (to > from)
			b[i] += nearest(per_second * (to - from));
	}
}

void state_heat_add(struct state_heat *h, enum io_op op, int64_t bytes, double start, double end)
{
	if (!(end <= h->width * STATE_BINS) || h->width <= 0)
		state_heat_cover(h, end);
	start = start > 0 ? start : 0; /* the clock may be before the epoch */
	int first = state_heat_bin(h, start);
	if (end < (first + 1) * h->width || !(end > start))
		h->bytes[op][first] += bytes;
	else
		heat_spread(h, h->bytes[op], bytes, start, end);
}

/* Halves the number of segments; from then on operations join over gaps that the eye would not see. */
static uint32_t timeline_compress(struct state_timeline *t)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i + 1 < STATE_SEGMENTS; i += 2) {
		struct state_segment s = t->segment[i];
		s.end = t->segment[i + 1].end;
		for (int k = 0; k < IO_OPS; k++)
			s.busy[k] += t->segment[i + 1].busy[k];
		t->segment[kept++] = s;
	}
	t->used = kept;
	t->compressed++;
	double span = t->segment[kept - 1].end - t->segment[0].start;
	double gap = span / (4 * STATE_SEGMENTS);
	t->gap = gap > 2 * t->gap ? gap : 2 * t->gap;
	return kept;
}

static double segment_busy(const struct state_segment *s)
{
	double sum = 0;
	for (int k = 0; k < IO_OPS; k++)
		sum += s->busy[k];
	return sum;
}

/* An operation that began before the last segment ended holds inner ones (MPI-IO around POSIX): only what they left is new. */
static void timeline_cover(struct state_timeline *t, enum io_op op, double start, double end, double busy)
{
	struct state_segment all = {.start = start, .end = end};
	double known = 0;
	int64_t used = state_rows(t->used, STATE_SEGMENTS);
	while (used && t->segment[used - 1].start >= start) {
		struct state_segment *s = &t->segment[--used];
		known += segment_busy(s);
		for (int k = 0; k < IO_OPS; k++)
			all.busy[k] += s->busy[k];
		all.end = s->end > all.end ? s->end : all.end;
	}
	struct state_segment *before = used ? &t->segment[used - 1] : NULL;
	if (before && before->end > start) {
		double part = (before->end - start) / (before->end - before->start);
		known += part * segment_busy(before);
		all.start = before->start;
		all.end = before->end > all.end ? before->end : all.end;
		for (int k = 0; k < IO_OPS; k++)
			all.busy[k] += before->busy[k];
		used--;
	}
	/* One operation holds those that are known in its time; of several that lie in it somewhere none does. */
	bool one = busy >= end - start;
	double left = one ? end - start - known : all.end - all.start - segment_busy(&all);
	busy = busy < left ? busy : left;
	if (busy > 0) {
		all.busy[op] += busy;
		t->busy[op] += busy;
	}
	used -= used == STATE_SEGMENTS;
	t->segment[used] = all;
	t->used = (uint32_t)used + 1;
}

void state_timeline_spread(struct state_timeline *t, enum io_op op, double start, double end, double busy)
{
	if (!(end >= start))
		return;
	int64_t used = state_rows(t->used, STATE_SEGMENTS);
	struct state_segment *s = used ? &t->segment[used - 1] : NULL;
	if (s && start < s->end) {
		timeline_cover(t, op, start, end, busy);
		return;
	}
	if (!s || start - s->end > t->gap) {
		if (used == STATE_SEGMENTS)
			used = timeline_compress(t);
		s = &t->segment[used];
		*s = (struct state_segment){.start = start};
		t->used = (uint32_t)used + 1;
	}
	s->busy[op] += busy;
	t->busy[op] += busy;
	s->end = end;
}

/* ---- requests ---- */

static int latency_class(double seconds)
{
	static const double limit[STATE_LATENCIES - 1] = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
	int c = 0;
	while (c < STATE_LATENCIES - 1 && seconds >= limit[c])
		c++;
	return c;
}

void state_requests_add(struct state_requests *n, int64_t times, int64_t bytes, double after)
{
	n->count += times;
	if (bytes < 0)
		n->errors += times;
	else
		n->bytes += times * bytes;
	if (after < 0) {
		n->untimed += bytes > 0 ? times * bytes : 0;
		return;
	}
	n->span += (double)times * after;
	n->longest = after > n->longest ? after : n->longest;
	n->latency[latency_class(after)] += times;
}

/* ---- phases ---- */

static bool of_files(int operation)
{
	const char *interface = written_operations[operation].interface;
	return !strcmp(interface, "posix") || !strcmp(interface, "stdio");
}

static int list_those_of_files(uint8_t listed[STATE_OP_COUNT])
{
	int n = 0;
	for (int o = 0; o < STATE_OP_COUNT; o++)
		if (of_files(o))
			listed[n++] = (uint8_t)o;
	return n;
}

/* Which operations count is found out once: a phase may begin a million times. */
static int64_t meta_ops(const struct state_shard *s)
{
	static uint8_t counted[STATE_OP_COUNT];
	static int known;
	int64_t n = 0;
	int used = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
	if (!used)
		__atomic_store_n(&known, used = list_those_of_files(counted), __ATOMIC_RELEASE);
	for (int i = 0; i < used; i++)
		n += s->operation[counted[i]].count;
	return n;
}

void state_phase_now(const struct state_shard *s, struct state_phase_io *now)
{
	memcpy(now->calls, s->calls, sizeof now->calls);
	memcpy(now->busy, s->timeline.busy, sizeof now->busy);
	now->meta_ops = meta_ops(s);
}
