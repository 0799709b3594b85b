/* Phases that the program has named: what each did, by rank, and when. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "assembly.h"

enum { PATH = 1088, STEPS_OF_JOB = 2048, STEPS_LEAST = 8 };

/* Of a damaged store any bits may be a time. */
static double sane(double t)
{
	return t > -1e9 && t < 1e9 ? t : 0;
}

/* The rows that lead to one, which come before it: a/b/c. */
static void path_of(const struct state_phases *p, int64_t row, char path[PATH])
{
	char name[STATE_PHASE_NAME], rest[PATH] = "";
	path[0] = '\0';
	for (int64_t at = row; at >= 0;) {
		const struct state_phase *phase = &p->phase[at];
		memcpy(name, phase->name, sizeof name);
		name[sizeof name - 1] = '\0';
		snprintf(path, PATH, "%s%s%.*s", name, *rest ? "/" : "", PATH - STATE_PHASE_NAME - 2, rest);
		memcpy(rest, path, sizeof rest);
		at = phase->parent - 1 < at ? phase->parent - 1 : -1;
	}
}

/* What threads had done in their phases when the process ended within them. */
static void add_unsettled(const struct store_reader *i, const struct state_phases *p, int64_t row,
			  struct state_phase_io *io)
{
	for (const struct state_shard *s = i->state->shard; s < i->state->shard + i->shards; s++) {
		struct state_phase_io now;
		if ((s->phase.phase ? s->phase.phase : p->leader) != row + 1)
			continue;
		state_phase_now(s, &now);
		phase_state_add(io, &s->phase.settled, &now);
	}
}

static int add_interfaces(struct assembly *a, int64_t rank, const char *path, const struct state_phase_io *io)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PHASE_INTERFACES];
	for (int slot = 0; slot < WRITTEN_COUNT; slot++) {
		const struct state_calls *c = &io->calls[slot];
		if (!c->count[IO_READ] && !c->count[IO_WRITE])
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, rank);
		section_set_text(s, "phase", 0, path);
		section_set_text(s, "interface", 0, written_modules[slot].key);
		section_set_i64(s, "reads", 0, c->count[IO_READ]);
		section_set_i64(s, "writes", 0, c->count[IO_WRITE]);
		section_set_i64(s, "bytes_read", 0, c->bytes[IO_READ]);
		section_set_i64(s, "bytes_written", 0, c->bytes[IO_WRITE]);
	}
	return s->failed;
}

static int64_t calls_of(const struct state_phase_io *io, int op)
{
	int64_t n = 0;
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		n += written_modules[slot].descriptors ? io->calls[slot].count[op] : 0;
	return n;
}

static int add_phase(struct assembly *a, const struct store_reader *i, const struct state_phases *p, int64_t row)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PHASES_OF_PROGRAM];
	const struct state_phase *phase = &p->phase[row];
	struct state_phase_io io = phase->io;
	char path[PATH];
	path_of(p, row, path);
	add_unsettled(i, p, row, &io);
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_text(s, "phase", 0, path);
	section_set_i64(s, "count", 0, phase->count);
	section_set_i64(s, "open", 0, phase->open);
	assembly_set_duration(s, "time", sane(phase->time));
	assembly_set_duration(s, "shortest", sane(phase->shortest));
	assembly_set_duration(s, "longest", sane(phase->longest));
	section_set_f64(s, "first", 0, precise_moment(sane(phase->first)));
	section_set_f64(s, "last", 0, precise_moment(sane(phase->last)));
	assembly_set_duration(s, "read_time", sane(io.busy[IO_READ]));
	assembly_set_duration(s, "write_time", sane(io.busy[IO_WRITE]));
	assembly_set_duration(s, "meta_time", sane(io.busy[IO_META]));
	section_set_i64(s, "reads", 0, calls_of(&io, IO_READ));
	section_set_i64(s, "writes", 0, calls_of(&io, IO_WRITE));
	section_set_i64(s, "meta_ops", 0, io.meta_ops);
	section_set_i64(s, "bytes_read", 0, phase_state_bytes(&io, IO_READ));
	section_set_i64(s, "bytes_written", 0, phase_state_bytes(&io, IO_WRITE));
	return s->failed ? s->failed : add_interfaces(a, i->rank, path, &io);
}

static int64_t sound_steps(const struct state_phases *p, int64_t used, struct state_step *steps)
{
	int64_t n = 0;
	for (int64_t k = 0; k < p->steps && k < STATE_STEPS; k++)
		if (p->step[k].phase >= 0 && p->step[k].phase < used && p->step[k].count > 0)
			steps[n++] = p->step[k];
	return n;
}

static int add_steps(struct assembly *a, const struct store_reader *i, const struct state_phases *p, int64_t used)
{
	struct trailer_section *s = &a->section[ASSEMBLY_STEPS];
	struct state_step *steps = log_alloc(sizeof p->step);
	int64_t most = STEPS_OF_JOB / a->part->nprocs, n = steps ? sound_steps(p, used, steps) : 0;
	char path[PATH];
	n = phase_state_join(steps, n, most < STEPS_LEAST ? STEPS_LEAST : most);
	for (int64_t k = 0; k < n; k++) {
		path_of(p, steps[k].phase, path);
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "phase", 0, path);
		section_set_i64(s, "count", 0, steps[k].count);
		section_set_f64(s, "start", 0, precise_moment(sane(steps[k].start)));
		section_set_f64(s, "end", 0, precise_moment(sane(steps[k].end)));
		assembly_set_duration(s, "io_time", sane(steps[k].io));
		section_set_i64(s, "bytes_read", 0, steps[k].bytes[IO_READ]);
		section_set_i64(s, "bytes_written", 0, steps[k].bytes[IO_WRITE]);
	}
	log_free(steps);
	return steps ? s->failed : LOG_E_MEMORY;
}

int assembly_add_phases(struct assembly *a, const struct store_reader *i)
{
	const struct state_phases *p = &i->state->optional.phases;
	if (!(i->state->has & STATE_HAS_PHASES))
		return 0;
	int64_t used = p->used < 0 ? 0 : p->used < STATE_PHASES ? p->used : STATE_PHASES;
	int code = 0;
	for (int64_t row = 0; code >= 0 && row < used; row++)
		code = add_phase(a, i, p, row);
	return code < 0 || !used ? code : add_steps(a, i, p, used);
}
