/*
 * What was merged and when it ran: sections "part" and "interval". Of a log that is a merged one itself come its parts and
 * intervals, with the ranks and times that they have now.
 */
#include <string.h>

#include "merging.h"
#include "section_copy.h"

int merge_origins_begin(struct merge_origins *o)
{
	*o = (struct merge_origins){.run = SIZE_MAX, .interval = SIZE_MAX};
	int code = section_begin(&o->parts, "part",
				 "run i64\nfirst_rank i64\nnprocs i64\nlog str\njob i64\nuid i64\ncommand str\n"
				 "begin i64 ns\nend i64 ns\noffset f64 s\nmetadata str\n");
	int next = section_begin(&o->intervals, "interval", "begin i64 ns\nend i64 ns\noffset f64 s\n");
	return code < 0 ? code : next;
}

void merge_origins_free(struct merge_origins *o)
{
	section_free(&o->parts);
	section_free(&o->intervals);
}

static int64_t number(const struct trailer_table *t, uint64_t row, const char *field)
{
	return trailer_i64(t, row, trailer_field(t, field), 0);
}

static double moved(const struct trailer_table *t, uint64_t row, const struct merge_part *p)
{
	return trailer_f64(t, row, trailer_field(t, "offset"), 0) + p->shift;
}

/* A run's number in the merged log, and that it is taken. */
static int64_t number_run(struct merge_origins *o, uint64_t within)
{
	int64_t run = o->first_run + (int64_t)within;
	o->next_run = run < o->next_run ? o->next_run : run + 1;
	return run;
}

static void add_part(struct merge_origins *o, const struct merging *g, const struct merge_part *p)
{
	struct trailer_section *s = &o->parts;
	section_row(s);
	section_set_i64(s, "run", 0, number_run(o, 0));
	section_set_i64(s, "first_rank", 0, g->runs[p->run].rank);
	section_set_i64(s, "nprocs", 0, p->nprocs);
	section_set_text(s, "log", 0, p->path);
	section_set_i64(s, "job", 0, p->id);
	section_set_i64(s, "uid", 0, p->uid);
	section_set_text(s, "command", 0, p->exe);
	section_set_i64(s, "begin", 0, p->begin);
	section_set_i64(s, "end", 0, p->end);
	section_set_f64(s, "offset", 0, p->shift);
	section_set_text(s, "metadata", 0, p->metadata);
}

static void add_parts_of(struct merge_origins *o, const struct merging *g, const struct merge_part *p,
			 const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		uint64_t run = (uint64_t)number(t, row, "run");
		section_copy_row(&o->parts, t, row, NULL, NULL);
		section_set_i64(&o->parts, "run", 0, number_run(o, run < trailer_rows(t) ? run : 0));
		section_set_i64(&o->parts, "first_rank", 0,
				(int64_t)((uint64_t)number(t, row, "first_rank") + (uint64_t)g->runs[p->run].rank));
		section_set_f64(&o->parts, "offset", 0, moved(t, row, p));
	}
}

static void add_interval(struct merge_origins *o, int64_t begin, int64_t end, double offset)
{
	section_row(&o->intervals);
	section_set_i64(&o->intervals, "begin", 0, begin);
	section_set_i64(&o->intervals, "end", 0, end);
	section_set_f64(&o->intervals, "offset", 0, offset);
}

static void add_intervals_of(struct merge_origins *o, const struct merge_part *p, const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++)
		add_interval(o, number(t, row, "begin"), number(t, row, "end"), moved(t, row, p));
}

int merge_origins_add(struct merge_origins *o, const struct merging *g, const struct merge_part *p,
		      struct trailer *trailer)
{
	const struct merge_interval *v = &g->intervals[p->interval];
	struct trailer_table *parts = NULL, *intervals = NULL;
	bool first = o->run != p->run;   /* of its run */
	bool news = first || !p->source; /* parts of one merged log all say the same of what was merged */
	int code = p->merged ? trailer_find(trailer, "part", &parts, g->err) : 0;
	if (code >= 0 && p->merged)
		code = trailer_find(trailer, "interval", &intervals, g->err);
	if (code >= 0) {
		o->first_run = first ? o->next_run : o->first_run;
		if (!p->merged)
			add_part(o, g, p);
		else if (news)
			add_parts_of(o, g, p, parts);
		if (news && p->merged)
			add_intervals_of(o, p, intervals);
		else if (first && !p->merged && v->merged)
			add_interval(o, g->runs[p->run].begin, g->runs[p->run].end, p->shift);
		else if (o->interval != p->interval && !v->merged)
			add_interval(o, v->begin, v->end, (double)v->at / 1e9);
		o->run = p->run;
		o->interval = p->interval;
	}
	trailer_free(parts);
	trailer_free(intervals);
	return code < 0 ? code : o->parts.failed ? o->parts.failed : o->intervals.failed;
}

int merge_origins_write(struct merge_origins *o, const struct merging *g)
{
	int code = log_write_section(g->writer, &o->parts);
	return code < 0 ? code : log_write_section(g->writer, &o->intervals);
}

int merge_commands(struct merging *g, struct log *log, const char *exe,
		   int (*each)(void *context, const char *command, size_t length), void *context)
{
	struct trailer *trailer;
	struct trailer_table *t = NULL;
	int code = trailer_open(&trailer, log, g->err);
	if (code >= 0)
		code = trailer_find(trailer, "part", &t, g->err);
	for (uint64_t row = 0; code >= 0 && t && row < trailer_rows(t); row++) {
		size_t n = 0;
		const char *command = trailer_text(t, row, trailer_field(t, "command"), 0, &n);
		code = each(context, command, n);
	}
	if (code >= 0 && !t)
		code = each(context, exe, strlen(exe));
	trailer_free(t);
	trailer_close(trailer);
	return code;
}
