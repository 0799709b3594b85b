#include "record.h"

#include <errno.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "hash.h"
#include "life.h"
#include "lock.h"
#include "self.h"
#include "store.h"
#include "sys.h"

enum { DEEP = 16 };

struct frame {
	uint64_t name;  /* its hash: the row may be that of many */
	const void *of; /* what may end it; NULL: any caller with its id */
	uint64_t id;
	int row;
	double start;
	double processor; /* s that the thread had been on a processor; -1 = not asked */
	double io;
	int64_t bytes[2];
};

/* Of a thread, by its shard. */
struct stack {
	int depth;
	int beyond; /* phases for which there was no room */
	struct frame frame[DEEP];
};

/* All of it is under the lock. A thread that ends asks first, without, whether there are stacks: its own phases made them. */
static struct stack *stacks; /* STATE_SHARDS of them, from the first phase on */
static int leader = -1;      /* the stack for threads that have no phase of their own */
static uint64_t begun;       /* phases and ranges, of all threads */
static const char program;   /* whose phases are */
static struct lock lock;

static int number_of(const struct state_shard *s)
{
	return (int)(s - store_state()->shard);
}

static struct state_phases *table(void)
{
	return &store_state()->optional.phases;
}

static bool have_stacks(void)
{
	if (!stacks)
		stacks = arena_take(STATE_SHARDS * sizeof *stacks);
	return stacks;
}

static bool have_table(void)
{
	return store_touch_optional(STATE_HAS_PHASES, table(), sizeof *table());
}

/* ---- what threads have done since ---- */

/* Goes to the thread's phase, or to that of the leader; outside of all, nowhere. */
static void settle(struct state_shard *s)
{
	struct state_phase_io now, since = {0};
	struct state_phase_of_thread *mine = &s->phase;
	int64_t row = mine->phase ? mine->phase : table()->leader;
	int stack = mine->phase ? number_of(s) : leader;
	state_phase_now(s, &now);
	if (row > 0 && row <= STATE_PHASES && stack >= 0 && stacks && stacks[stack].depth) {
		struct frame *f = &stacks[stack].frame[stacks[stack].depth - 1];
		phase_state_add(&since, &mine->settled, &now);
		phase_state_add(&table()->phase[row - 1].io, &mine->settled, &now);
		f->io += phase_state_busy(&since);
		for (int op = 0; op < 2; op++)
			f->bytes[op] += phase_state_bytes(&since, op);
	}
	mine->settled = now;
}

/* Before the innermost phase of a thread changes: its own, and as the leader that of all others. */
static void settle_before(struct state_shard *mine)
{
	struct process_state *state = store_state();
	settle(mine);
	if (leader >= 0 && leader != number_of(mine))
		return;
	int64_t shards = state_rows((int64_t)state->shards, STATE_SHARDS);
	for (struct state_shard *s = state->shard; s < state->shard + shards; s++)
		if (s != mine && !s->phase.phase)
			settle(s);
}

static void change(struct state_shard *mine)
{
	int number = number_of(mine);
	const struct stack *s = &stacks[number];
	mine->phase.phase = s->depth ? s->frame[s->depth - 1].row + 1 : 0;
	if (leader < 0 && s->depth)
		leader = number;
	if (leader == number)
		table()->leader = mine->phase.phase;
	if (leader == number && !s->depth)
		leader = -1;
}

/* ---- rows ---- */

/* The last row is that of all for which there is none. */
static int row_of(const char *name, int64_t parent)
{
	static const char others[] = "<other phases>";
	struct state_phases *t = table();
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

static uint64_t hash_of(const char *name)
{
	return log_hash(name, strnlen(name, STATE_PHASE_NAME - 1), 0);
}

/* s of the calling thread: a system call, which costs as much as all else. */
static double processor_now(void)
{
	return sys_confined ? -1 : (double)sys_nanoseconds(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
}

/* A thread may end what another one began: of that nothing is known. */
static void add_processor(const struct stack *s, struct state_phase *p, double before)
{
	double now = before >= 0 && s == &stacks[number_of(self.shard)] ? processor_now() : -1;
	if (now > before)
		p->processor += now - before;
}

/* Returns its id, 0 = there is no room. */
static uint64_t push(struct stack *s, const char *name, const void *of)
{
	if (s->depth == DEEP) {
		s->beyond += of != NULL;
		return 0;
	}
	int row = row_of(name, s->depth ? s->frame[s->depth - 1].row + 1 : 0);
	struct state_phase *p = &table()->phase[row];
	double now = clock_now();
	uint64_t id = ++begun * STATE_SHARDS + (uint64_t)(s - stacks);
	if (!p->count && !p->open)
		p->first = now;
	p->open++;
	double processor = phase_state_of_loader(name) ? processor_now() : -1;
	s->frame[s->depth++] = (struct frame){hash_of(name), of, id, row, now, processor, 0, {0}};
	return id;
}

/* What began in it, and has not ended, stays where it is. */
static void take_out(struct stack *s, int k)
{
	struct frame f = s->frame[k];
	struct state_phase *p = &table()->phase[f.row];
	double now = clock_now(), time = now - f.start;
	s->depth--;
	memmove(&s->frame[k], &s->frame[k + 1], (size_t)(s->depth - k) * sizeof f);
	p->shortest = !p->count || time < p->shortest ? time : p->shortest;
	p->longest = time > p->longest ? time : p->longest;
	p->time += time;
	add_processor(s, p, f.processor);
	p->last = now;
	p->count++;
	p->open--;
	phase_state_step(table(), &(struct state_step){f.row, 1, f.start, now, f.io, {f.bytes[0], f.bytes[1]}});
	if (!k)
		return;
	struct frame *around = &s->frame[k - 1];
	around->io += f.io;
	around->bytes[0] += f.bytes[0];
	around->bytes[1] += f.bytes[1];
}

static void pop(struct stack *s)
{
	take_out(s, s->depth - 1);
}

/* The one that began last of those, without a name of all; the depth as it is where there is none. */
static int last_of(const struct stack *s, const void *of, const char *name)
{
	uint64_t hash = name ? hash_of(name) : 0;
	for (int k = s->depth; k-- > 0;)
		if (s->frame[k].of == of && (!name || s->frame[k].name == hash))
			return k;
	return s->depth;
}

/* ---- threads end, processes fork ---- */

static void on_thread_end(struct state_shard *s)
{
	bool any = stacks && store_state()->has & STATE_HAS_PHASES;
	if (!any || !lock_take_deep(&lock))
		return;
	settle_before(s);
	while (stacks[number_of(s)].depth)
		pop(&stacks[number_of(s)]);
	stacks[number_of(s)].beyond = 0;
	change(s);
	lock_drop_deep(&lock);
}

/* In a forked child: what its parent is in is its parent's. */
static void forget(void)
{
	if (stacks)
		memset(stacks, 0, STATE_SHARDS * sizeof *stacks);
	leader = -1;
}

LIFE_MODULE(phases, .fork_restore = forget);

/* ---- begin and end ---- */

/* A thread without a shard of its own, such as the 64th, is in no phase of its own. */
static bool enter(void)
{
	if (!self_enter_locked(&lock))
		return false;
	if (!self.shared && have_table() && have_stacks()) {
		self_on_thread_end = on_thread_end;
		return true;
	}
	self_leave_locked(&lock);
	return false;
}

uint64_t phase_range_begin(const char *name, const void *of)
{
	int saved = errno;
	uint64_t id = 0;
	if (enter()) {
		settle_before(self.shard);
		id = push(&stacks[number_of(self.shard)], name ? name : "", of);
		change(self.shard);
		self_leave_locked(&lock);
	}
	errno = saved;
	return id;
}

/* What it does until it ends goes to the phase of that name. */
static void rename_frame(struct state_shard *shard, int k, const char *name)
{
	struct stack *s = &stacks[number_of(shard)];
	struct frame *f = &s->frame[k];
	int row = row_of(name, k ? s->frame[k - 1].row + 1 : 0);
	struct state_phase *p = &table()->phase[row];
	table()->phase[f->row].open--;
	if (!p->count && !p->open)
		p->first = f->start;
	p->open++;
	f->row = row;
	f->name = hash_of(name);
	change(shard);
}

/* `name` NULL: it is the phase that it began as. */
static void range_end(uint64_t id, const char *name)
{
	int saved = errno;
	if (id && enter()) {
		struct state_shard *shard = &store_state()->shard[id % STATE_SHARDS];
		struct stack *s = &stacks[id % STATE_SHARDS];
		int k = s->depth;
		while (k-- > 0 && s->frame[k].id != id)
			;
		if (k >= 0) {
			if (name)
				rename_frame(shard, k, name);
			settle_before(shard);
			take_out(s, k);
			change(shard);
		}
		self_leave_locked(&lock);
	}
	errno = saved;
}

void phase_range_end(uint64_t id)
{
	range_end(id, NULL);
}

void phase_range_end_as(uint64_t id, const char *name)
{
	range_end(id, name);
}

/* Of the calling thread; those within it end as well, or go on. */
static void end_last(const void *of, const char *name, bool within, const char *as)
{
	int saved = errno;
	if (enter()) {
		struct stack *s = &stacks[number_of(self.shard)];
		int k = s->beyond ? s->depth : last_of(s, of, name);
		s->beyond -= s->beyond > 0;
		if (k < s->depth && as)
			rename_frame(self.shard, k, as);
		if (k < s->depth)
			settle_before(self.shard);
		while (within && s->depth > k + 1)
			pop(s);
		if (k < s->depth)
			take_out(s, k);
		change(self.shard);
		self_leave_locked(&lock);
	}
	errno = saved;
}

void phase_range_end_last(const void *of)
{
	end_last(of, NULL, false, NULL);
}

void phase_begin(const char *name)
{
	phase_range_begin(name, &program);
}

void phase_end(const char *name)
{
	end_last(&program, name, true, NULL);
}

void phase_end_as(const char *name)
{
	end_last(&program, NULL, true, name);
}
