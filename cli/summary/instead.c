#include "instead.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hdf5_time_thresholds.h"
#include "instead_thresholds.h"
#include "late_ranks_thresholds.h"
#include "output.h"
#include "units.h"

#define B(n)    units_bytes((char[UNITS_TEXT]){0}, (double)(n))
#define N(n)    units_count((char[UNITS_TEXT]){0}, n)
#define S(t)    units_seconds((char[UNITS_TEXT]){0}, t)
#define P(part) units_percent((char[UNITS_TEXT]){0}, part)

static double clamp(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

struct words {
	char *at;
	size_t used;
};

static void add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *w, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	if (w->used < INSTEAD_TEXT)
		w->used += (size_t)vsnprintf(w->at + w->used, INSTEAD_TEXT - w->used, format, list);
	va_end(list);
}

/* As a terminal may show it. */
static void add_name(struct words *w, const char *name)
{
	char shown[OUTPUT_SHOWN];
	while (*name) {
		name += output_next(name, shown);
		add(w, "%s", shown);
	}
}

static void add_most(struct words *w, const struct digest_used *u)
{
	const struct used_program *most = u->program;
	for (size_t p = 0; p < u->nprograms; p++)
		if (u->program[p].processor > most->processor)
			most = &u->program[p];
	if (u->nprograms < 2 || most->processor < INSTEAD_MOST * u->processor)
		return;
	add(w, ", most of it in ");
	add_name(w, most->name);
}

/* The kernel has most of the work, and copied much of what processes passed to each other. */
static void add_passed(struct words *w, const struct digest *d, double run_time)
{
	static const char *const ways[][2] = {
		{"pipe", "pipes"}, {"socket_unix", "sockets"}, {"socket_loopback", "sockets"}};
	const char *through = "";
	int64_t most = 0;
	for (size_t c = 0; c < d->nclasses; c++) {
		const struct digest_class *k = &d->class[c];
		int64_t bytes = k->bytes_read > k->bytes_written ? k->bytes_read : k->bytes_written;
		for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
			if (!strcmp(k->name, ways[i][0]) && bytes > most) {
				most = bytes;
				through = ways[i][1];
			}
	}
	double part = d->used.processor > 0 ? d->used.system / d->used.processor : 0;
	if (part >= INSTEAD_MOST && (double)most >= INSTEAD_COPIED * INSTEAD_DELAYED * run_time)
		add(w, ", %.0f %% of that in the kernel: %s go through %s", 100 * part, B(most), through);
}

static void add_processor(struct words *w, const struct digest *d, double run_time)
{
	const struct digest_used *u = &d->used;
	double busy = u->processor / run_time, delayed = clamp(u->delay / run_time, 0, clamp(1 - busy, 0, 1));
	if (delayed >= INSTEAD_DELAYED) {
		add(w, "the processor, busy for %s of the run; for %s, the program waited while others used it",
		    P(busy), P(delayed));
		if (d->used.queued > 0)
			add(w, " (%s " INSTEAD_IN_CALLS ")", P(d->used.queued / run_time));
	} else if (busy <= INSTEAD_ONE_PROCESSOR || u->cpus <= 0) {
		add(w, "the processor, busy for %s of the run", P(clamp(busy, 0, 1)));
	} else {
		add(w, "the processors, %.1f of %.0f busy on average", clamp(busy, 0, u->cpus), u->cpus);
	}
	add_most(w, u);
	add_passed(w, d, run_time);
}

/* What the job read most from, of what keeps a reader waiting. A log does not say how long it waited. */
static const char *waited_for(const struct digest *d)
{
	static const char *const ends[][2] = {{"socket", "a socket"}, {"pipe", "a pipe"}, {"terminal", "a terminal"}};
	const char *what = d->used.undelayed ? "a processor, a timer, a lock or another process"
					     : "a timer, a lock or another process";
	int64_t most = 0;
	for (size_t c = 0; c < d->nclasses; c++)
		for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
			if (!strncmp(d->class[c].name, ends[e][0], strlen(ends[e][0])) &&
			    d->class[c].bytes_read > most) {
				most = d->class[c].bytes_read;
				what = ends[e][1];
			}
	return what;
}

/* What requests read is not known of each process: of a job that makes some, what waits for storage may be them. */
static bool has_requests(const struct digest *d)
{
	return d->way[DIGEST_WAY_LIBAIO].bytes[IO_READ] + d->way[DIGEST_WAY_URING].bytes[IO_READ] > 0;
}

double instead_faults(const struct digest *d)
{
	return has_requests(d) ? 0 : d->used.fault_time;
}

/* Alone, or with what calls take. */
static bool faults_matter(const struct digest *d, double run_time, double io_time)
{
	double faults = instead_faults(d);
	return faults >= INSTEAD_FAULTING * run_time ||
	       (faults >= INSTEAD_FAULTING_WITH_IO * run_time && faults + io_time >= INSTEAD_FAULTING * run_time);
}

/* Of the time that is not I/O: what takes most. */
enum kind { NOTHING, LATE, PIPES, LOCKS, FAULTS, STARTS, PROCESSOR, WAITING };

static double busy(const struct digest *d)
{
	return d->used.processor + d->used.delay;
}

static double waited(const struct digest *d, double run_time, double io_time)
{
	return run_time - d->used.processor - d->used.fault_time - d->used.queued - io_time;
}

double instead_unwatched(const struct digest *d, double run_time, double io_time)
{
	double rest = waited(d, run_time, io_time);
	bool lost = d->used.has_rest && (d->command_lost || d->totals_only);
	return lost && rest > d->used.processor ? rest : 0;
}

/* How long programs computed that were not observed, or ended unseen, is known where a process waited for all of them. How
 * long they waited for a processor is not. */
static bool knows_all(const struct digest *d, double run_time)
{
	bool little = d->used.has_rest && d->used.rest < INSTEAD_DELAYED * run_time;
	return little || (!d->used.unknown && !d->unobserved);
}

/* rest: s of all waiting, with that for locks; 0 = not known. */
static bool locks_most(const struct digest *d, double rest)
{
	double locks = d->locks.waited;
	return locks > 0 && locks >= busy(d) && locks >= d->used.fault_time && 2 * locks >= rest;
}

/* One program uses most of the processor, and its processes are no brief ones, as of a compiler. */
static bool computes_long(const struct digest_used *u)
{
	for (size_t p = 0; p < u->nprograms; p++)
		if (u->program[p].processes && u->program[p].processor >= INSTEAD_MOST * u->processor)
			return u->program[p].processor >= INSTEAD_BRIEF * (double)u->program[p].processes;
	return false;
}

static enum kind kind_of(const struct digest *d, double run_time, double io_time)
{
	const struct digest_used *u = &d->used;
	if (run_time > 0 && d->in_pipes > LATE_RANKS_WAITED_FOR * run_time)
		return PIPES;
	if ((!u->processes && !u->has_rest) || run_time <= 0)
		return NOTHING;
	if (d->late.waited > 0)
		return LATE;
	double rest = knows_all(d, run_time) ? waited(d, run_time, io_time) : 0;
	if (locks_most(d, rest))
		return LOCKS;
	if (faults_matter(d, run_time, io_time) && u->fault_time > busy(d) && u->fault_time > rest)
		return FAULTS;
	if (u->processes >= INSTEAD_MANY_PROCESSES && run_time < INSTEAD_BRIEF * (double)u->processes &&
	    u->brief >= INSTEAD_BRIEF_PART * u->processor && !computes_long(u))
		return STARTS;
	if (busy(d) >= INSTEAD_MOST * run_time)
		return PROCESSOR;
	if (!knows_all(d, run_time) || run_time < INSTEAD_WORTH_WAITING)
		return faults_matter(d, run_time, io_time) ? FAULTS : NOTHING;
	return rest > busy(d) ? WAITING : PROCESSOR;
}

bool instead_names_hdf5(const struct digest *d, double run_time)
{
	const struct digest_hdf5 *h = &d->hdf5;
	return h->time > 0 && (h->time >= HDF5_TIME_MUCH * run_time || h->wasted >= HDF5_TIME_WASTING * run_time);
}

/* It is named, and most of what the processor does. */
static bool hdf5_computes(const struct digest *d, double run_time)
{
	return instead_names_hdf5(d, run_time) && d->hdf5.all >= INSTEAD_MOST * busy(d);
}

/* A process that computes may do so in its calls: what they took may be in both, and counts as I/O. */
bool instead_is_more(const struct digest *d, double run_time, double io_time)
{
	bool faults = faults_matter(d, run_time, io_time) && d->used.fault_time > io_time;
	switch (kind_of(d, run_time, io_time)) {
	case PIPES:
		return d->in_pipes > io_time;
	case LATE:
		return faults || d->late.waited > io_time;
	case LOCKS:
		return faults || d->locks.waited > io_time;
	case STARTS:
		return faults || 2 * io_time < run_time;
	case PROCESSOR:
		return faults || (2 * io_time < run_time && busy(d) > 2 * io_time) ||
		       (hdf5_computes(d, run_time) && d->hdf5.time > io_time);
	case WAITING:
		return faults || waited(d, run_time, io_time) > io_time;
	default:
		return faults;
	}
}

bool instead_is_most(const struct digest *d, double run_time, double io_time)
{
	enum kind kind = kind_of(d, run_time, io_time);
	return (kind == PROCESSOR && busy(d) >= INSTEAD_MOST * run_time) ||
	       (kind == WAITING && waited(d, run_time, io_time) >= INSTEAD_MOST * run_time) || kind == FAULTS ||
	       kind == STARTS || (kind == LATE && d->late.waited >= INSTEAD_MOST * run_time) ||
	       (kind == LOCKS && d->locks.waited >= INSTEAD_MOST * run_time) ||
	       (kind == PIPES && d->in_pipes >= INSTEAD_MOST * run_time);
}

bool instead_computes_io(const struct digest *d)
{
	return d->used.computing >= INSTEAD_ALWAYS && d->used.computing <= INSTEAD_ONE_PROCESSOR;
}

static void add_computing(struct words *w, const struct digest *d, double run_time)
{
	double time = d->hdf5.time;
	if (hdf5_computes(d, run_time))
		add(w, INSTEAD_HDF5 ", %.0f %% of the run: %.1f of %.1f s, on the processor", 100 * time / run_time,
		    time, run_time);
	else
		add_processor(w, d, run_time);
}

static void add_faults(struct words *w, const struct digest *d, double run_time)
{
	add(w, "page faults, about %s of the run", P(clamp(d->used.fault_time / run_time, 0, 1)));
	if (d->used.fault_bytes)
		add(w, ": %s of programs, libraries and mapped files from storage", B(d->used.fault_bytes));
	else /* other processes brought them, or a file system that the kernel does not count as storage */
		add(w, " on programs, libraries and mapped files");
}

/* Pages that came ahead of their use, or from storage that does not make processes sleep, take no time of their own. */
static void add_brought(struct words *w, const struct digest *d, double run_time)
{
	if (!has_requests(d) && (double)d->used.fault_bytes >= INSTEAD_BROUGHT * INSTEAD_CACHED * run_time)
		add(w, "; meanwhile %s of programs, libraries and mapped files came from storage",
		    B(d->used.fault_bytes));
}

static void add_locks(struct words *w, const struct digest *d, double run_time)
{
	const struct digest_locks *l = &d->locks;
	add(w, "waiting, %s of the run, for ", P(l->waited / run_time));
	add(w, *l->file ? "a lock on " : "locks on files");
	add_name(w, l->file);
	if (*l->file)
		add(w, l->several ? ", which other processes of the job lock, too"
				  : ", which no other process of the job locks");
}

void instead_describe(const struct digest *d, double run_time, double io_time, char text[INSTEAD_TEXT])
{
	const struct digest_used *u = &d->used;
	struct words w = {text, 0};
	enum kind kind = kind_of(d, run_time, io_time);
	*text = '\0';
	switch (kind) {
	case FAULTS:
		add_faults(&w, d, run_time);
		return;
	case PIPES:
		add(&w, "waiting, %s of the run, for the other ends of named pipes", P(d->in_pipes / run_time));
		return;
	case LATE:
		add(&w, "waiting, %s of the run: %s in MPI-IO for rank %lld, which comes late",
		    P(d->late.waited / run_time), COUNTED(d->late.others, "rank"), (long long)d->late.rank);
		break;
	case LOCKS:
		add_locks(&w, d, run_time);
		break;
	case STARTS:
		add(&w, "the start of %s, %s each", COUNTED(u->processes, "process"),
		    S(run_time / (double)u->processes));
		break;
	case PROCESSOR:
		add_computing(&w, d, run_time);
		break;
	case WAITING:
		add(&w, "waiting, %s of the run, most likely for %s", P(waited(d, run_time, io_time) / run_time),
		    waited_for(d));
		break;
	default:
		return;
	}
	if (faults_matter(d, run_time, io_time)) {
		add(&w, ", and ");
		add_faults(&w, d, run_time);
	} else {
		add_brought(&w, d, run_time);
	}
	if (d->locks.waited > 0 && kind != LOCKS)
		add(&w, "; processes wait for locks on files for %s of the run", P(d->locks.waited / run_time));
	if (instead_names_hdf5(d, run_time) && !strstr(text, INSTEAD_HDF5))
		add(&w, "; " INSTEAD_HDF5 " takes %.0f %% of the run", 100 * d->hdf5.time / run_time);
}
