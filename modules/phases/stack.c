/* The phases that threads are in, their rows in the store, and whose I/O goes where. */
#include <string.h>

#include "arena.h"
#include "life.h"
#include "state.h"
#include "store.h"
#include "sys.h"

struct stack *phase_stacks; /* under the lock */
struct lock phase_lock;     /* guards the stacks, and the rows of phases in the store */
static int leader = -1;     /* the stack for threads that have no phase of their own; under the lock */

struct state_phases *phase_table(void)
{
	return &store_state()->optional.phases;
}

bool phase_have_room(void)
{
	if (!store_touch_optional(STATE_HAS_PHASES, phase_table(), sizeof *phase_table()))
		return false;
	if (!phase_stacks)
		phase_stacks = arena_take(STATE_SHARDS * sizeof *phase_stacks);
	return phase_stacks;
}

/* ---- what threads have done since ---- */

void phase_settle(struct state_shard *s)
{
	struct state_phase_io now, since = {0};
	struct state_phase_of_thread *mine = &s->phase;
	int64_t row = mine->phase ? mine->phase : phase_table()->leader;
	int stack = mine->phase ? phase_number(s) : leader;
	state_phase_now(s, &now);
	if (row > 0 && row <= STATE_PHASES && stack >= 0 && phase_stacks && phase_stacks[stack].depth) {
		struct frame *f = &phase_stacks[stack].frame[phase_stacks[stack].depth - 1];
		phase_state_add(&since, &mine->settled, &now);
		phase_state_add(&phase_table()->phase[row - 1].io, &mine->settled, &now);
		f->io += phase_state_busy(&since);
		for (int op = 0; op < 2; op++)
			f->bytes[op] += phase_state_bytes(&since, op);
	}
	mine->settled = now;
}

void phase_settle_before(struct state_shard *mine)
{
	struct process_state *state = store_state();
	phase_settle(mine);
	if (leader >= 0 && leader != phase_number(mine))
		return;
	int64_t shards = state_rows((int64_t)state->shards, STATE_SHARDS);
	for (struct state_shard *s = state->shard; s < state->shard + shards; s++)
		if (s != mine && !s->phase.phase)
			phase_settle(s);
}

void phase_change(struct state_shard *mine)
{
	int number = phase_number(mine);
	const struct stack *s = &phase_stacks[number];
	mine->phase.phase = s->depth ? s->frame[s->depth - 1].row + 1 : 0;
	if (leader < 0 && s->depth)
		leader = number;
	if (leader == number)
		phase_table()->leader = mine->phase.phase;
	if (leader == number && !s->depth)
		leader = -1;
}

/* ---- rows ---- */

int phase_row(const char *name, int64_t parent)
{
	static const char others[] = "<other phases>";
	struct state_phases *t = phase_table();
	int used = (int)state_rows(t->used, STATE_PHASES);
	for (int row = 0; row < used; row++)
		if (t->phase[row].parent == parent && strncmp(t->phase[row].name, name, STATE_PHASE_NAME - 1) == 0)
			return row;
	if (used == STATE_PHASES)
		return STATE_PHASES - 1;
	struct state_phase *p = &t->phase[used];
	bool last = used == STATE_PHASES - 1;
	memcpy(p->name, last ? others : name, strnlen(last ? others : name, STATE_PHASE_NAME - 1));
	p->parent = last ? 0 : parent;
	__atomic_store_n(&t->used, used + 1, __ATOMIC_RELEASE);
	return used;
}

double phase_processor(void)
{
	return sys_confined ? -1 : (double)sys_nanoseconds(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
}

/* In a forked child: what its parent is in is its parent's. */
static void forget(void)
{
	if (phase_stacks)
		memset(phase_stacks, 0, STATE_SHARDS * sizeof *phase_stacks);
	leader = -1;
}

LIFE_MODULE(phases, .fork_restore = forget);
