/*
 * MPI calls: of every rank a record of the module APMPI, which a record about the job precedes. The layouts come from the module's TOML; the preload library knows no more of it than they.
 */
#include <string.h>

#include "assembly.h"
#include "hash.h"

void assembly_sum_communication(struct assembly *a)
{
	struct assembly_communication sum = {0};
	for (size_t m = 0; m < a->part->nmembers; m++) {
		const struct assembly_source *s = &a->sources[a->part->members[m].source];
		if (a->part->members[m].rank < 0 || !s->communicates)
			continue;
		sum.ranks++;
		sum.time += s->communication;
		sum.squares += s->communication * s->communication;
		sum.synchronization += s->synchronization;
		sum.its_squares += s->synchronization * s->synchronization;
	}
	a->communication = sum;
}

/* ---- the region ---- */

/* Of all ranks of the job; one that did not communicate took no time for it. */
static double variance(const struct assembly *a, double time, double squares)
{
	double n = (double)a->part->nprocs, mean = time / n;
	double found = squares / n - mean * mean;
	return found > 0 ? found : 0;
}

static int write_header(struct assembly *a)
{
	const struct assembly_communication *c = &a->communication;
	struct apmpi_header header = {
		.id = log_id("darshan-apmpi-header"),
		.magic = APMPI_HEADER_MAGIC,
		.sync_flag = c->synchronization > 0,
		.total_comm_time_variance = variance(a, c->time, c->squares),
		.total_comm_sync_time_variance = variance(a, c->synchronization, c->its_squares),
	};
	return log_write_record(a->writer, &header, sizeof header);
}

static void set_call(uint8_t *record, const struct written_call *w, const struct state_call *sum)
{
	const int64_t moved[] = {sum->bytes,   sum->size[0], sum->size[1], sum->size[2],
				 sum->size[3], sum->size[4], sum->size[5]};
	const double times[] = {precise_duration(sum->time), precise_duration(sum->shortest),
				precise_duration(sum->longest)};
	memcpy(record + w->counters, &sum->count, sizeof sum->count);
	if (w->sized)
		memcpy(record + w->counters + sizeof sum->count, moved, sizeof moved);
	memcpy(record + w->times, times, sizeof times);
	double synchronized = precise_duration(sum->synchronized);
	if (w->synchronized)
		memcpy(record + w->synchronized, &synchronized, sizeof synchronized);
}

static int write_rank(struct assembly *a, struct store_reader *i)
{
	struct apmpi_record *r = (struct apmpi_record *)a->record;
	_Static_assert(sizeof *r <= sizeof a->record, "room for a record");
	if (i->rank < 0 || !i->communicating)
		return 0;
	*r = (struct apmpi_record){.id = log_id("APMPI"), .rank = i->rank};
	for (int c = 0; c < STATE_CALL_COUNT; c++) {
		struct state_call sum = store_reader_call(i, c);
		if (written_calls[c].counters)
			set_call(a->record, &written_calls[c], &sum);
	}
	r->total_comm_time = precise_duration(a->source->communication);
	r->total_comm_sync_time = precise_duration(a->source->synchronization);
	memcpy(r->processor_name, i->state->process.host, sizeof i->state->process.host - 1);
	return log_write_record(a->writer, a->record, sizeof *r);
}

int assembly_write_communication(struct assembly *a)
{
	if (!a->communication.ranks)
		return 0;
	int code = log_write_module(a->writer, LOG_MOD_APMPI, APMPI_VERSION);
	if (code >= 0 && !a->unheaded)
		code = write_header(a);
	return code < 0 ? code : assembly_each(a, ASSEMBLY_ALL_STATES, write_rank);
}
