#include "phase_state.h"

#include "schema.h"

void phase_state_add(struct state_phase_io *to, const struct state_phase_io *before, const struct state_phase_io *now)
{
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		for (int op = 0; op < 2; op++) {
			to->calls[slot].count[op] += now->calls[slot].count[op] - before->calls[slot].count[op];
			to->calls[slot].bytes[op] += now->calls[slot].bytes[op] - before->calls[slot].bytes[op];
		}
	for (int op = 0; op < 3; op++)
		to->busy[op] += now->busy[op] - before->busy[op];
	to->meta_ops += now->meta_ops - before->meta_ops;
}

int64_t phase_state_bytes(const struct state_phase_io *io, int op)
{
	int64_t bytes = 0;
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		bytes += written_modules[slot].descriptors ? io->calls[slot].bytes[op] : 0;
	return bytes;
}

double phase_state_busy(const struct state_phase_io *io)
{
	return io->busy[0] + io->busy[1] + io->busy[2];
}

/* ---- steps ---- */

static void join(struct state_step *to, const struct state_step *next)
{
	to->count += next->count;
	to->start = next->start < to->start ? next->start : to->start;
	to->end = next->end > to->end ? next->end : to->end;
	to->io += next->io;
	to->bytes[0] += next->bytes[0];
	to->bytes[1] += next->bytes[1];
}

/* Each with the next one of its phase; who was joined to one before has count 0 until the end. */
static int64_t join_pairs(struct state_step *steps, int64_t n)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < n; i++) {
		for (int64_t k = i + 1; k < n && steps[i].count; k++)
			if (steps[k].count && steps[k].phase == steps[i].phase) {
				join(&steps[i], &steps[k]);
				steps[k].count = 0;
				break;
			}
		if (steps[i].count)
			steps[kept++] = steps[i];
	}
	return kept;
}

int64_t phase_state_join(struct state_step *steps, int64_t n, int64_t most)
{
	for (int64_t before = n + 1; n > most && n < before;) {
		before = n;
		n = join_pairs(steps, n);
	}
	return n;
}

void phase_state_step(struct state_phases *p, const struct state_step *s)
{
	int64_t n = p->steps < 0 ? 0 : p->steps;
	if (n >= STATE_STEPS)
		n = phase_state_join(p->step, STATE_STEPS, STATE_STEPS - 1);
	if (n < STATE_STEPS)
		p->step[n++] = *s;
	p->steps = n;
}
