#include "used.h"

#include <string.h>

/*
 * A fault that waits for storage. Where faults are most of what a process waited for, its own waits say how long one takes, within
 * bounds that keep a sleep out of it; else what a disk without moving parts needs. What is read ahead makes no fault of its own,
 * and is waited for as well: then the bytes tell more.
 */
static const double FAULT = 0.2e-3, SHORTEST_FAULT = 0.05e-3, LONGEST_FAULT = 10e-3 /* s */,
		    STORAGE = 100e6 /* bytes/s */;

#define I64(name) trailer_i64(t, row, trailer_field(t, name), 0)
#define F64(name) trailer_f64(t, row, trailer_field(t, name), 0)

static double clamp(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

void used_add_faults(struct digest_used *u, const struct used_faults *f)
{
	bool mostly = f->waits > 0 && f->waits <= 2 * f->faults;
	double each = mostly ? clamp(f->idle / (double)f->waits, SHORTEST_FAULT, LONGEST_FAULT) : FAULT;
	double by_number = (double)f->faults * each, by_bytes = (double)f->bytes / STORAGE;
	double idle = f->idle > 0 ? f->idle : 0;
	if (f->faults <= 0 && f->bytes <= 0)
		return;
	u->faults += f->faults;
	u->fault_bytes += f->bytes > 0 ? f->bytes : 0;
	u->fault_time += clamp(by_number > by_bytes ? by_number : by_bytes, 0, idle);
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

void used_add(struct digest_used *u, const struct trailer_table *t, uint64_t row, struct used_faults *faults)
{
	*faults = (struct used_faults){0};
	bool known = trailer_field(t, "user_time") && F64("user_time") >= 0;
	if (!known) {
		u->unknown++;
		return;
	}
	double processor = F64("user_time") + F64("system_time");
	*faults = (struct used_faults){.idle = F64("end") - F64("start") - processor - F64("io_time"),
				       .faults = I64("major_faults"),
				       .waits = I64("waits"),
				       .bytes = I64("storage_read") - I64("seen_read")};
	u->processes++;
	u->processor += processor;
	if (trailer_field(t, "processor_wait"))
		u->delay += clamp(F64("processor_wait"), 0, faults->idle > 0 ? faults->idle : 0);
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
