#include "used.h"

#include <string.h>

#include "instead_thresholds.h"

/*
 * How long a page takes that waits for storage. Where these are most of what a process waited for, by the number of its waits or
 * by what each of them brought, the time that it slept tells it, within bounds that keep a sleep out of it. Of others it is
 * estimated: by the number of faults and by the bytes, since what is read ahead makes no fault of its own and is waited for as
 * well. The rate is then that of the first kind, else that of reads from storage in this run, else what a disk without moving
 * parts gives. The numbers stand in the metric that says the same: python/iolens/metrics/sql/instead.sql.
 */

#define I64(name) trailer_i64(t, row, trailer_field(t, name), 0)
#define F64(name) trailer_f64(t, row, trailer_field(t, name), 0)

static double clamp(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

static int64_t paged_in(const struct used_faults *f)
{
	return f->storage > f->seen ? f->storage - f->seen : 0;
}

static bool faulted(const struct used_faults *f)
{
	return f->known && (f->faults > 0 || paged_in(f) > 0);
}

static double idle(const struct used_faults *f)
{
	double rest = f->end - f->start - f->processor - f->io + f->in_io;
	return rest > 0 ? rest : 0;
}

/*
 * A process with one thread is in its calls for at most as long as it sleeps or runs in the kernel. Where it mostly sleeps, waits
 * for a processor follow waits for storage, and are left in I/O.
 */
void used_find_queue(struct used_faults *f)
{
	double rest = f->end - f->start - f->user - f->delay, most = f->delay < f->io ? f->delay : f->io;
	if (f->known && f->single && rest <= 2 * (f->processor - f->user))
		f->in_io = clamp(f->io - (rest > 0 ? rest : 0), 0, most > 0 ? most : 0);
}

/* Of one thread all of it: it does nothing else meanwhile. */
static double delayed(const struct used_faults *f)
{
	return clamp(f->delay, 0, f->single ? f->end - f->start - f->processor : idle(f));
}

/* s that it neither ran, nor waited for a processor, nor was in I/O. */
static double asleep(const struct used_faults *f)
{
	double rest = f->end - f->start - f->processor - f->delay;
	return clamp(rest, 0, idle(f));
}

/* Its waits that were for pages, where these are most of them. */
static int64_t waits_for_pages(const struct used_faults *f)
{
	if (f->waits <= 0 || !faulted(f))
		return 0;
	bool large = paged_in(f) / INSTEAD_AHEAD >= f->waits;
	bool often = (double)f->faults >= INSTEAD_FAULT_PART * (double)f->waits;
	return large ? f->waits : often ? f->faults : 0;
}

/* Longer waits on average are not all for pages. */
static bool slept(const struct used_faults *f)
{
	return asleep(f) > INSTEAD_LONGEST_FAULT * (double)f->waits;
}

static double measured(const struct used_faults *f, int64_t waits)
{
	double each = clamp(asleep(f) / (double)f->waits, INSTEAD_SHORTEST_FAULT, INSTEAD_LONGEST_FAULT);
	return clamp((double)waits * each, 0, asleep(f));
}

void used_measure(struct used_storage *s, const struct used_faults *f)
{
	int64_t waits = waits_for_pages(f);
	if (waits && !slept(f)) {
		s->bytes += paged_in(f);
		s->waits += waits;
		s->time += measured(f, waits);
	}
	if (f->known && f->storage >= f->seen) {
		s->read += f->seen;
		s->read_time += f->read;
	}
}

static double rate_of(const struct used_storage *s)
{
	if (s->bytes >= INSTEAD_ENOUGH && s->time > 0)
		return clamp((double)s->bytes / s->time, INSTEAD_SLOWEST, INSTEAD_FASTEST);
	if (s->read >= INSTEAD_ENOUGH && s->read_time > 0 && (double)s->read / s->read_time <= INSTEAD_CACHED)
		return clamp((double)s->read / s->read_time, INSTEAD_SLOWEST_READS, INSTEAD_CACHED);
	return INSTEAD_STORAGE;
}

static double estimated(const struct used_faults *f, const struct used_storage *s)
{
	double each = s->waits >= INSTEAD_MANY
			      ? clamp(s->time / (double)s->waits, INSTEAD_SHORTEST_FAULT, INSTEAD_LONGEST_FAULT)
			      : INSTEAD_FAULT;
	double by_number = (double)f->faults * each, by_bytes = (double)paged_in(f) / rate_of(s);
	return clamp(by_number > by_bytes ? by_number : by_bytes, 0, asleep(f));
}

void used_add_faults(struct digest_used *u, const struct used_storage *s, struct used_faults *f)
{
	int64_t waits = waits_for_pages(f);
	if (f->known && f->io > u->most_io && f->end > f->start) {
		u->most_io = f->io;
		u->computing = f->processor / (f->end - f->start);
	}
	if (!faulted(f))
		return;
	u->faults += f->faults;
	u->fault_bytes += paged_in(f);
	double most = waits ? measured(f, waits) : asleep(f);
	f->paged = waits && !slept(f) ? most : clamp(estimated(f, s), 0, most);
}

/* Of these s from `start` on, what is beyond those of processes before. */
static double beyond(double *until, double start, double time)
{
	double from = start > *until ? start : *until, end = start + time;
	if (time <= 0 || end <= from)
		return 0;
	*until = end;
	return end - from;
}

void used_add_waits(struct digest_used *u, struct used_waits *w, const struct used_faults *f)
{
	u->fault_time += beyond(&w->paged_until, f->start, f->paged);
	u->delay += beyond(&w->delayed_until, f->start, delayed(f));
}

static void add_program(struct digest_used *u, const char *exe, size_t n, double processor, int64_t processes)
{
	size_t p = 0, from;
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
	u->program[p].processes += processes;
}

void used_add(struct digest_used *u, const struct trailer_table *t, uint64_t row, struct used_faults *faults)
{
	*faults = (struct used_faults){0};
	bool known = trailer_field(t, "user_time") && F64("user_time") >= 0;
	if (!known) {
		u->unknown++;
		return;
	}
	double processor = F64("user_time") + F64("system_time");
	double delay = trailer_field(t, "processor_wait") ? F64("processor_wait") : 0;
	*faults = (struct used_faults){.known = true,
				       .start = F64("start"),
				       .end = F64("end"),
				       .processor = processor,
				       .user = F64("user_time"),
				       .single = trailer_field(t, "processor_threads") && I64("processor_threads") == 1,
				       .io = F64("io_time"),
				       .read = F64("read_time"),
				       .delay = delay > 0 ? delay : 0,
				       .faults = I64("major_faults"),
				       .waits = I64("waits"),
				       .storage = I64("storage_read"),
				       .seen = I64("seen_read")};
	u->processes++;
	u->undelayed += delay < 0;
	u->processor += processor;
	u->system += F64("system_time");
	u->brief += processor < INSTEAD_BRIEF ? processor : 0;
	size_t n;
	const char *exe = trailer_text(t, row, trailer_field(t, "exe"), 0, &n);
	add_program(u, exe, n, processor, 1);
}

void used_add_rest(struct digest_used *u, double processor)
{
	static const char name[] = "programs that were not observed";
	u->has_rest = true;
	u->rest += processor;
	u->processor += processor;
	add_program(u, name, sizeof name - 1, processor, 0);
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
