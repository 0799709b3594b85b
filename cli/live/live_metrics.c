/* No names of files: each would be a series of its own for as long as the server keeps them. */
#include "live_metrics.h"

#include <inttypes.h>

#include "output.h"

enum value { RUNNING, RUN_TIME, READ_BYTES, WRITTEN_BYTES, READS, WRITES, OPENS, TIME, WAITING, VALUES };

struct family {
	const char *name, *type, *unit, *help;
	bool interfaces; /* one for each */
};

static const struct family families[VALUES] = {
	[RUNNING] = {"iolens_live_processes", "gauge", "", "Observed processes that run on this node.", false},
	[RUN_TIME] = {"iolens_live_run_time_seconds", "gauge", "seconds", "Since the job began.", false},
	[READ_BYTES] = {"iolens_live_read_bytes", "counter", "bytes", "Read so far.", true},
	[WRITTEN_BYTES] = {"iolens_live_written_bytes", "counter", "bytes", "Written so far.", true},
	[READS] = {"iolens_live_reads", "counter", "", "Calls that read.", true},
	[WRITES] = {"iolens_live_writes", "counter", "", "Calls that write.", true},
	[OPENS] = {"iolens_live_opens", "counter", "", "Files opened.", true},
	[TIME] = {"iolens_live_io_time_seconds", "counter", "seconds", "Time in calls, added over processes.", true},
	[WAITING] = {"iolens_live_uninterruptible_processes", "gauge", "", "Observed processes in state D.", false},
};

static void put_label(FILE *out, const char *text)
{
	char piece[OUTPUT_SHOWN];
	for (const char *at = text; *at;) {
		size_t n = output_next(at, piece);
		if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else
			for (const char *c = piece; *c; c++)
				fprintf(out, *c == '\\' ? "\\\\" : "%c", *c);
		at += n;
	}
}

static void put_labels(FILE *out, const struct family *f, const struct live_job *j, const char *interface)
{
	fprintf(out, "%s%s{job=\"", f->name, f->type[0] == 'c' ? "_total" : "");
	put_label(out, j->name);
	fprintf(out, "\",job_id=\"%lld\",uid=\"%u\"", (long long)j->id, (unsigned)j->owner);
	if (interface)
		fprintf(out, ",interface=\"%s\"", interface);
	fputs("} ", out);
}

static void put_of_job(FILE *out, enum value v, const struct live_job *j)
{
	size_t waiting = 0;
	for (size_t n = 0; n < j->nprocesses; n++)
		waiting += j->processes[n].store->state == 'D';
	put_labels(out, &families[v], j, NULL);
	if (v == RUN_TIME)
		fprintf(out, "%.3f\n", j->run_time);
	else
		fprintf(out, "%zu\n", v == RUNNING ? j->running : waiting);
}

static void put_of_interface(FILE *out, enum value v, const struct live_job *j, int slot)
{
	const struct live_counts *c = &j->interface[slot].counts;
	const int64_t numbers[VALUES] = {
		[READ_BYTES] = c->bytes[IO_READ],
		[WRITTEN_BYTES] = c->bytes[IO_WRITE],
		[READS] = c->calls[IO_READ],
		[WRITES] = c->calls[IO_WRITE],
		[OPENS] = c->opens,
	};
	if (!j->interface[slot].files)
		return;
	put_labels(out, &families[v], j, written_modules[slot].key);
	if (v == TIME)
		fprintf(out, "%.6f\n", live_time(c));
	else
		fprintf(out, "%" PRId64 "\n", numbers[v]);
}

void live_metrics(FILE *out, const struct live *l)
{
	for (int v = 0; v < VALUES; v++) {
		const struct family *f = &families[v];
		fprintf(out, "# TYPE %s %s\n", f->name, f->type);
		if (*f->unit)
			fprintf(out, "# UNIT %s %s\n", f->name, f->unit);
		fprintf(out, "# HELP %s %s\n", f->name, f->help);
		for (size_t n = 0; n < l->n; n++) {
			if (!f->interfaces)
				put_of_job(out, v, &l->jobs[n]);
			for (int slot = 0; f->interfaces && slot < WRITTEN_COUNT; slot++)
				put_of_interface(out, v, &l->jobs[n], slot);
		}
	}
	fputs("# EOF\n", out);
}
