#include "used.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "output.h"
#include "units.h"

/* Shares of the run time, or of the program's own kind, from which one is named. */
static const double BUSY = 0.5, FAULTING = 0.2, MOST = 0.5, WAITING = 0.5;

enum { MANY_PROCESSES = 100 };
static const double BRIEF = 0.02 /* s, of the run for each process */;

/*
 * A fault that waits for storage. Where faults are most of what a process waited for, its own waits say how long one takes, within
 * bounds that keep a sleep out of it; else what a disk without moving parts needs.
 */
static const double FAULT = 0.2e-3, SHORTEST_FAULT = 0.05e-3, LONGEST_FAULT = 1e-3 /* s */;

#define I64(name) trailer_i64(t, row, trailer_field(t, name), 0)
#define F64(name) trailer_f64(t, row, trailer_field(t, name), 0)
#define N(n)      units_count((char[UNITS_TEXT]){0}, n)
#define S(t)      units_seconds((char[UNITS_TEXT]){0}, t)

static double clamp(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

static double fault_time(double idle, int64_t faults, int64_t waits)
{
	double each =
		waits > 0 && waits <= 2 * faults ? clamp(idle / (double)waits, SHORTEST_FAULT, LONGEST_FAULT) : FAULT;
	return clamp((double)faults * each, 0, idle);
}

static void add_program(struct digest_used *u, const struct trailer_table *t, uint64_t row, double processor)
{
	size_t n, p = 0, from;
	const char *exe = trailer_text(t, row, trailer_field(t, "exe"), 0, &n);
	for (from = n; from && exe[from - 1] != '/'; from--)
		;
	exe += from;
	n = n - from < USED_NAME - 1 ? n - from : USED_NAME - 1;
	while (p < u->nprograms && (strncmp(u->program[p].name, exe, n) != 0 || u->program[p].name[n]))
		p++;
	if (p == USED_PROGRAMS)
		return;
	if (p == u->nprograms)
		memcpy(u->program[u->nprograms++].name, exe, n);
	u->program[p].processor += processor;
}

void used_add(struct digest_used *u, const struct trailer_table *t, uint64_t row)
{
	bool known = trailer_field(t, "user_time") && F64("user_time") >= 0;
	if (!known) {
		u->unknown++;
		return;
	}
	double processor = F64("user_time") + F64("system_time");
	double idle = F64("end") - F64("start") - processor - F64("io_time");
	u->processes++;
	u->processor += processor;
	u->faults += I64("major_faults");
	u->fault_time += fault_time(idle, I64("major_faults"), I64("waits"));
	add_program(u, t, row, processor);
}

void used_read_platform(struct digest_used *u, const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		size_t n;
		const char *name = trailer_text(t, row, trailer_field(t, "name"), 0, &n);
		if (n == strlen("cpus_allowed") && !memcmp(name, "cpus_allowed", n))
			u->cpus += F64("number");
	}
}

/* ---- in words ---- */

struct words {
	char *at;
	size_t used;
};

static void add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *w, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	if (w->used < USED_TEXT)
		w->used += (size_t)vsnprintf(w->at + w->used, USED_TEXT - w->used, format, list);
	va_end(list);
}

static void add_most(struct words *w, const struct digest_used *u)
{
	const struct used_program *most = u->program;
	char shown[OUTPUT_SHOWN];
	for (size_t p = 0; p < u->nprograms; p++)
		if (u->program[p].processor > most->processor)
			most = &u->program[p];
	if (u->nprograms < 2 || most->processor < MOST * u->processor)
		return;
	add(w, ", most of it in ");
	for (const char *at = most->name; *at;) {
		at += output_next(at, shown);
		add(w, "%s", shown);
	}
}

static void add_processor(struct words *w, const struct digest_used *u, double run_time)
{
	double busy = u->processor / run_time;
	if (busy <= 1.05 || u->cpus <= 0)
		add(w, "the processor, busy for %.0f %% of the run", 100 * clamp(busy, 0, 1));
	else
		add(w, "the processors, %.1f of %.0f busy on average", clamp(busy, 0, u->cpus), u->cpus);
	add_most(w, u);
}

/* What the job read most often, of what keeps a reader waiting. A log does not say how long it waited. */
static const char *waited_for(const struct digest *d)
{
	static const char *const ends[][2] = {{"socket", "a socket"}, {"pipe", "a pipe"}, {"terminal", "a terminal"}};
	const char *what = "a timer, a lock or another process";
	int64_t most = 0;
	for (size_t c = 0; c < d->nclasses; c++)
		for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
			if (!strncmp(d->class[c].name, ends[e][0], strlen(ends[e][0])) && d->class[c].bytes_read > 0 &&
			    d->class[c].calls > most) {
				most = d->class[c].calls;
				what = ends[e][1];
			}
	return what;
}

void used_describe(const struct digest *d, double run_time, double io_time, char text[USED_TEXT])
{
	const struct digest_used *u = &d->used;
	struct words w = {text, 0};
	double waited = run_time - u->processor - u->fault_time - io_time;
	*text = '\0';
	if (!u->processes || run_time <= 0)
		return;
	if (u->fault_time >= FAULTING * run_time)
		add(&w, "page faults, about %.0f %% of the run: %s pages came from storage, about %s each",
		    100 * clamp(u->fault_time / run_time, 0, 1), N(u->faults), S(u->fault_time / (double)u->faults));
	else if (u->processes >= MANY_PROCESSES && run_time < BRIEF * (double)u->processes)
		add(&w, "the start of %s processes, %s each", N(u->processes), S(run_time / (double)u->processes));
	else if (u->processor >= BUSY * run_time)
		add_processor(&w, u, run_time);
	else if (!u->unknown && waited >= WAITING * run_time)
		add(&w, "waiting, %.0f %% of the run, most likely for %s", 100 * waited / run_time, waited_for(d));
}
