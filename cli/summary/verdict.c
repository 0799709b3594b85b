#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hdf5_time_thresholds.h"
#include "instead.h"
#include "output.h"
#include "units.h"

/* The report's scale (LOOK, and SEVERITY's high, in python/iolens/rules/load.py): tests hold them together. */
static const double PROBLEM = 0.25, LOOK = 0.05, LITTLE = 0.02, SHORT = 1.0, SHORT_RUN = 4.0 /* s */;

enum { MUCH_UNTIMED = 1000000, MILLION = 1000000, NAME = 48 };

#define B(n) units_bytes((char[UNITS_TEXT]){0}, (double)(n))
#define N(n) units_count((char[UNITS_TEXT]){0}, n)

struct text {
	char *at;
	size_t used;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	if (t->used < VERDICT_TEXT)
		t->used += (size_t)vsnprintf(t->at + t->used, VERDICT_TEXT - t->used, format, list);
	va_end(list);
}

static void add_share(struct text *t, double share)
{
	add(t, "%s", units_percent((char[UNITS_TEXT]){0}, share));
}

static void add_count(struct text *t, int64_t n, const char *noun)
{
	char more[UNITS_COUNTED];
	if (n >= 10 * MILLION)
		add(t, "%.0f million %s", (double)n / MILLION, units_plural(more, noun));
	else if (n >= MILLION)
		add(t, "%.1f million %s", (double)n / MILLION, units_plural(more, noun));
	else
		add(t, "%s", COUNTED(n, noun));
}

/* The file's name without its path, as a terminal may show it. */
static void add_name(struct text *t, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
	char shown[OUTPUT_SHOWN];
	for (size_t used = 0; *name; used += strlen(shown)) {
		name += output_next(name, shown);
		if (used + strlen(shown) > NAME) {
			add(t, "...");
			return;
		}
		add(t, "%s", shown);
	}
}

/* ---- what the time is from ---- */

/* What one direction of one file took and moved: what MPI-IO was asked for holds what it did below. */
struct flow {
	const struct digest_file *file;
	int64_t calls, bytes;
	double time; /* s, summed over ranks */
	bool mpiio;
};

static struct flow flow_of(const struct digest_file *f, enum io_op op)
{
	const struct digest_interface *upper = &f->mpiio;
	bool read = op == IO_READ;
	struct flow below = {f, read ? f->reads : f->writes, read ? f->bytes_read : f->bytes_written,
			     read ? f->read_time : f->write_time, false};
	struct flow above = {f, read ? upper->reads : upper->writes, read ? upper->bytes_read : upper->bytes_written,
			     read ? upper->read_time : upper->write_time, true};
	return upper->records && above.calls && above.time >= below.time ? above : below;
}

static bool forces(const char *operation)
{
	static const char *const names[] = {"fsync",           "fdatasync", "sync",        "syncfs",
					    "sync_file_range", "msync",     "forced_write"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], operation))
			return true;
	return false;
}

/* The operation with at least half the time of `whole`, of those that force data to storage or of the others. */
static const struct digest_operation *most_of(const struct digest *d, bool forcing, double whole)
{
	double all = 0;
	const struct digest_operation *first = NULL;
	for (size_t o = 0; o < d->noperations; o++) {
		if (forces(d->operation[o].name) != forcing)
			continue;
		first = first ? first : &d->operation[o];
		all += d->operation[o].time;
	}
	if (whole < 0)
		whole = all;
	return first && first->time > 0 && 2 * first->time >= whole ? first : NULL;
}

static void add_operation(struct text *t, const struct digest_operation *o)
{
	char call[64];
	bool forced = !strcmp(o->name, "forced_write");
	snprintf(call, sizeof call, "%s call", o->name);
	add(t, ": ");
	add_count(t, o->count, forced ? "write" : call);
	add(t, forced ? " forced by O_SYNC or O_DSYNC" : "");
}

static void add_flow(struct text *t, const struct flow *f, enum io_op op)
{
	bool read = op == IO_READ;
	if (!f->calls)
		return;
	add(t, ": ");
	add_count(t, f->calls, read ? "read" : "write");
	if (f->mpiio)
		add(t, " by MPI-IO");
	add(t, " of %s", B(f->bytes / f->calls));
	if (f->bytes % f->calls)
		add(t, " on average");
	if (f->file) {
		add(t, read ? " from " : " to ");
		add_name(t, digest_file_final(f->file));
	}
}

static void add_up(struct flow *all, const struct flow *f)
{
	all->time += f->time;
	all->calls += f->calls;
	all->bytes += f->bytes;
}

/* Of those files that take a tenth of the longest one's time or more: a million characters, in files that take none,
 * say nothing about calls that wait. Of all files where these have less than half of the time. */
static struct flow sum_of(const struct digest *d, enum io_op op, double longest, double time)
{
	struct flow slow = {0}, all = {0};
	for (size_t n = 0; n < d->nfiles; n++) {
		struct flow f = flow_of(&d->files[n], op);
		add_up(&all, &f);
		if (10 * f.time >= longest)
			add_up(&slow, &f);
	}
	return 2 * slow.time > time ? slow : all;
}

/* Reads or writes: of the file that takes more than half of their time, else of those that take most. */
static void add_transfers(struct text *t, const struct digest *d, enum io_op op)
{
	struct flow most = {0}, all = {0};
	for (size_t n = 0; n < d->nfiles; n++) {
		struct flow f = flow_of(&d->files[n], op);
		add_up(&all, &f);
		if (f.time > most.time)
			most = f;
	}
	const struct digest_operation *forcing = op == IO_WRITE ? most_of(d, true, all.time) : NULL;
	if (forcing) {
		add_operation(t, forcing);
		return;
	}
	if (2 * most.time <= all.time)
		most = sum_of(d, op, most.time, all.time);
	add_flow(t, &most, op);
}

/* MPI-IO's opens and closes have at least half of the time of calls that move no data: not those of MPI_Init. */
static bool mpiio_opens_most(const struct digest *d)
{
	double all = 0;
	for (size_t o = 0; o < d->noperations; o++)
		all += forces(d->operation[o].name) ? 0 : d->operation[o].time;
	const struct digest_interface *m = &d->interface[WRITTEN_MPIIO];
	return m->opens > 0 && m->meta_time > 0 && 2 * m->meta_time >= all;
}

/* The operation with at least half of the time in calls, where no kind has it: copies are reads and writes. */
static const struct digest_operation *most_of_all(const struct digest *d)
{
	const struct digest_interface *posix = &d->interface[WRITTEN_POSIX];
	double all = posix->read_time + posix->write_time + posix->meta_time;
	const struct digest_operation *most = most_of(d, false, all);
	return most ? most : most_of(d, true, all);
}

static void add_cause(struct text *t, const struct digest *d, int op)
{
	const struct digest_operation *most = op == IO_META  ? most_of(d, false, -1)
					      : op == IO_OPS ? most_of_all(d)
							     : NULL;
	if (op == IO_READ || op == IO_WRITE) {
		add_transfers(t, d, op);
	} else if (op == IO_META && mpiio_opens_most(d)) {
		add(t, ": ");
		add_count(t, d->interface[WRITTEN_MPIIO].opens, "open");
		add(t, " by MPI-IO");
	} else if (most) {
		add_operation(t, most);
	}
}

/* ---- the sentence ---- */

/* Bytes of which nothing says how long they took. What was paged in has an estimate, among what the time is from instead. */
static int64_t untimed(const struct digest *d)
{
	int64_t sum = digest_unexplained(d);
	for (int k = 0; k < 2; k++) {
		sum += d->way[DIGEST_WAY_UNOBSERVED].bytes[k];
		for (int w = DIGEST_WAY_LIBAIO; w <= DIGEST_WAY_URING; w++)
			sum += d->has_requests ? d->way[w].untimed[k] : d->way[w].bytes[k];
	}
	return sum;
}

static int64_t mapped(const struct digest *d)
{
	return d->way[DIGEST_WAY_MAPPED].bytes[IO_READ] + d->way[DIGEST_WAY_MAPPED].bytes[IO_WRITE];
}

/* s that they can have taken at most, where they are too much to be left out. */
static double lost(const struct digest *d)
{
	int64_t bytes = untimed(d) + mapped(d);
	double possible = digest_possible(d, untimed(d), mapped(d));
	bool much = bytes >= MUCH_UNTIMED && 20 * bytes > digest_moved(d) && 20 * possible > d->run_time;
	return much ? possible : 0;
}

/* s that HDF5 itself wastes by decoding chunks again, where they are worth a look. */
static double wasted(const struct digest *d)
{
	return d->hdf5.wasted >= HDF5_TIME_WASTING * d->run_time ? d->hdf5.wasted : 0;
}

/* Likewise s that a program waited whose calls were not observed. */
static double unwatched(const struct digest *d)
{
	double waited = instead_unwatched(d, d->run_time, d->io.total);
	return waited >= PROBLEM * d->run_time ? waited : 0;
}

/* It could make I/O the cause, and is not. Of unexplained bytes page faults are no estimate. */
static bool is_open(const struct digest *d)
{
	double faults = digest_much_unexplained(d) ? 0 : instead_faults(d);
	double known = d->io.total + faults + wasted(d);
	double open = lost(d) + unwatched(d);
	bool small = instead_is_most(d, d->run_time, d->io.total) && d->io.total + open < PROBLEM * d->run_time;
	return open > 0 && known < PROBLEM * d->run_time && !small;
}

static const char *level_of(double share, double spent)
{
	return share < LOOK ? "good" : share >= PROBLEM && spent >= SHORT ? "problem" : "look";
}

/* The kind with more than half of the time; IO_OPS: none has. */
static int kind_of(const struct digest *d)
{
	for (int op = 0; op < IO_OPS; op++)
		if (2 * d->io.by_op[op] > d->io.total)
			return op;
	return IO_OPS;
}

/* "reading", or the two kinds that take most. */
static void add_kinds(struct text *t, const struct digest *d, int kind)
{
	static const char *const kinds[] = {[IO_READ] = "reading", [IO_WRITE] = "writing", [IO_META] = "metadata"};
	int least = 0, shown = 0;
	double sum = 0;
	for (int op = 0; op < IO_OPS; op++) {
		sum += d->io.by_op[op];
		least = d->io.by_op[op] < d->io.by_op[least] ? op : least;
	}
	if (2 * (sum - d->io.by_op[least]) <= d->io.total)
		return;
	add(t, ", most of it ");
	for (int op = 0; op < IO_OPS; op++)
		if (kind < IO_OPS ? op == kind : op != least)
			add(t, "%s%s", shown++ ? " and " : "", kinds[op]);
}

/* What the time goes into, where it is not I/O. */
static void add_instead(struct text *t, const struct digest *d, const char *part)
{
	char what[INSTEAD_TEXT];
	instead_describe(d, d->run_time, d->io.total, what);
	if (*what)
		add(t, "; %s is %s", part, what);
}

/* "it": half of the run or more. */
static const char *part_of(const struct digest *d)
{
	return instead_is_most(d, d->run_time, d->io.total) ? "it" : "the largest part";
}

static void add_more(struct text *t, const struct digest *d)
{
	char what[INSTEAD_TEXT];
	instead_describe(d, d->run_time, d->io.total, what);
	add(t, "; more goes into %s", what);
}

/* Where I/O is not the cause with all that has no time, either. */
static void add_at_most(struct text *t, const struct digest *d)
{
	double share = (d->io.total + lost(d)) / d->run_time;
	if (lost(d) <= 0 || share >= 1)
		return;
	add(t, ", at most ");
	add_share(t, share);
	add(t, " with %s whose time is not known", B(untimed(d) + mapped(d)));
}

/* HDF5 itself is the cause: it wastes more than I/O takes below it. */
static void say_hdf5(struct text *t, const struct digest *d, double share, const char *about)
{
	add(t, INSTEAD_HDF5 " takes ");
	add_share(t, d->hdf5.time / d->run_time);
	add(t, " of the run time: %.1f of %.1f s in ", d->hdf5.time, d->run_time);
	add_count(t, d->hdf5.calls, "access");
	add(t, " to datasets; %s", about);
	add_share(t, share);
	add(t, " goes into I/O");
	if (d->run_time < SHORT_RUN && d->io.total + wasted(d) < SHORT)
		add(t, "; a run too short to matter");
}

/* It is in the share of no kind of I/O. */
static void add_queue(struct text *t, const struct digest *d)
{
	if (d->used.queued <= 0 || strstr(t->at, INSTEAD_IN_CALLS))
		return;
	add(t, "; for ");
	add_share(t, d->used.queued / d->run_time);
	add(t, " more, the program waited for a processor " INSTEAD_IN_CALLS);
}

static void say(struct text *t, const struct digest *d, double share)
{
	int kind = kind_of(d);
	const char *about = d->estimated && share >= 0.001 ? "about " : "";
	if (wasted(d) > d->io.total) {
		say_hdf5(t, d, share, about);
		return;
	}
	if (share < LITTLE || (share < LOOK && d->io.total < SHORT)) {
		add(t, "I/O is not the cause here: %s", about);
		add_share(t, share);
		add(t, " of the run time");
		add_at_most(t, d);
		add_instead(t, d, part_of(d));
		add_queue(t, d);
		return;
	}
	add(t, "%s", about);
	add_share(t, share);
	add(t, " of the run time goes into I/O");
	add_kinds(t, d, kind);
	if (share < LOOK) {
		add(t, ": little to gain");
		add_instead(t, d, part_of(d));
		add_queue(t, d);
		return;
	}
	add_cause(t, d, kind);
	if (instead_is_more(d, d->run_time, d->io.total))
		add_more(t, d);
	else if (instead_names_hdf5(d, d->run_time))
		add(t, "; " INSTEAD_HDF5 " takes %.0f %% of the run", 100 * d->hdf5.time / d->run_time);
	else if (instead_computes_io(d))
		add(t, "; the processor is busy all the while, so it does not wait for storage");
	add_queue(t, d);
	if (d->run_time < SHORT_RUN && d->io.total < SHORT)
		add(t, "; a run too short to matter");
	else if (d->io.total < SHORT)
		add(t, "; I/O takes only %.1f of %.1f s", d->io.total, d->run_time);
}

/* Less is no news. */
static void add_of_loop(struct text *t, const struct digest *d, const struct digest_loop *l, double time,
			const char *before, const char *behind)
{
	if (time < LOOK * d->run_time || l->ended <= l->began)
		return;
	add(t, "%s", before);
	add_share(t, time < l->ended - l->began ? time / (l->ended - l->began) : 1);
	add(t, "%s", behind);
}

/* Whatever it waits for: an accelerator that it feeds is idle meanwhile. */
static void add_loop(struct text *t, const struct digest *d)
{
	add_of_loop(t, d, &d->loop, d->loop.wait, "; the training loop waited ", " of its time for data");
	add_of_loop(t, d, &d->writer, d->writer.checkpoints, "; the training loop stood still ",
		    " of its time for checkpoints");
}

/* Why it is not known. */
static void add_open(struct text *t, const struct digest *d)
{
	if (lost(d) > 0)
		add(t, ", and %s moved in ways whose time is not known", B(untimed(d) + mapped(d)));
	if (unwatched(d) <= 0) {
		add_instead(t, d, "the largest known part");
		return;
	}
	add(t, "; a program that was not observed waited for ");
	add_share(t, unwatched(d) / d->run_time);
	add(t, " of the run, perhaps for I/O");
}

void verdict_of(const struct digest *d, struct verdict *v)
{
	struct text t = {v->text, 0};
	*v = (struct verdict){.level = "unknown", .share = -1};
	bool measured = d->has_trailer && d->processes;
	if (!(measured || d->estimated) || d->run_time <= 0) {
		add(&t, "not known: %s",
		    d->run_time > 0 ? "the log has no records of I/O that tell its time" : "the log has no run time");
		return;
	}
	v->estimated = d->estimated;
	v->share = d->io.total < d->run_time ? d->io.total / d->run_time : 1;
	v->level = level_of(v->share + wasted(d) / d->run_time, d->io.total + wasted(d));
	if (is_open(d)) {
		v->level = "unknown";
		add(&t, "not known: ");
		add_share(&t, v->share);
		add(&t, " of the run time goes into I/O");
		add_open(&t, d);
		return;
	}
	say(&t, d, v->share);
	add_loop(&t, d);
	if (d->missing) {
		add(&t, "; ");
		add_count(&t, d->missing, "process");
		add(&t, " %s missing", units_agree(d->missing, "is", "are"));
	}
}

void verdict_json(struct json *j, const struct verdict *v)
{
	json_open(j, "verdict", '{');
	json_text(j, "level", v->level);
	if (v->share >= 0)
		json_f64(j, "io_share", v->share);
	if (v->estimated)
		json_bool(j, "estimated", true);
	json_text(j, "text", v->text);
	json_close(j);
}
