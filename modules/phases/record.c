#include "record.h"

#include <errno.h>
#include <string.h>

#include "checkpoint.h"
#include "clock.h"
#include "hash.h"
#include "self.h"
#include "state.h"
#include "store.h"

static uint64_t begun;     /* phases and ranges, of all threads; under the lock */
static const char program; /* whose phases are */

static uint64_t hash_of(const char *name)
{
	return log_hash(name, strnlen(name, STATE_PHASE_NAME - 1), 0);
}

/* A thread may end what another one began: of that nothing is known. */
static void add_processor(const struct stack *s, struct state_phase *p, double before)
{
	double now = before >= 0 && s == &phase_stacks[phase_number(self.shard)] ? phase_processor() : -1;
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
	int row = phase_row(name, s->depth ? s->frame[s->depth - 1].row + 1 : 0);
	struct state_phase *p = &phase_table()->phase[row];
	double now = clock_now();
	uint64_t id = ++begun * STATE_SHARDS + (uint64_t)(s - phase_stacks);
	if (!p->count && !p->open)
		p->first = now;
	p->open++;
	double processor = phase_state_of_loader(name) ? phase_processor() : -1;
	bool wait = phase_state_of_wait(name), library = phase_state_of_library(name);
	s->checkpoint.between = s->checkpoint.between && !wait;
	s->frame[s->depth++] = (struct frame){hash_of(name), of, id, row, wait, library, now, processor, 0, {0}};
	return id;
}

/* What began in it, and has not ended, stays where it is. */
static void take_out(struct stack *s, int k)
{
	struct frame f = s->frame[k];
	struct state_phase *p = &phase_table()->phase[f.row];
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
	if (!f.library)
		phase_state_step(phase_table(),
				 &(struct state_step){f.row, 1, f.start, now, f.io, {f.bytes[0], f.bytes[1]}});
	if (f.wait)
		checkpoint_look(s);
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
	bool any = phase_stacks && store_state()->has & STATE_HAS_PHASES;
	if (!any || !lock_take_deep(&phase_lock))
		return;
	struct stack *mine = &phase_stacks[phase_number(s)];
	checkpoint_end(mine);
	phase_settle_before(s);
	while (mine->depth)
		pop(mine);
	mine->beyond = 0;
	mine->checkpoint.between = false;
	phase_change(s);
	lock_drop_deep(&phase_lock);
}

/* ---- begin and end ---- */

/* A thread without a shard of its own, such as the 64th, is in no phase of its own. */
static bool enter(void)
{
	if (!self_enter_locked(&phase_lock))
		return false;
	if (!self.shared && phase_have_room()) {
		self_on_thread_end = on_thread_end;
		return true;
	}
	self_leave_locked(&phase_lock);
	return false;
}

uint64_t phase_range_begin(const char *name, const void *of)
{
	int saved = errno;
	uint64_t id = 0;
	if (enter()) {
		checkpoint_end(&phase_stacks[phase_number(self.shard)]);
		phase_settle_before(self.shard);
		id = push(&phase_stacks[phase_number(self.shard)], name ? name : "", of);
		phase_change(self.shard);
		self_leave_locked(&phase_lock);
	}
	errno = saved;
	return id;
}

static bool makes_batch(const struct stack *s)
{
	bool loader = false;
	for (int k = 0; k < s->depth; k++) {
		if (s->frame[k].library)
			return false;
		loader = loader || phase_state_of_loader(phase_table()->phase[s->frame[k].row].name);
	}
	return loader;
}

uint64_t phase_range_begin_library(const char *name)
{
	bool makes = false;
	if (phase_stacks && enter()) {
		makes = makes_batch(&phase_stacks[phase_number(self.shard)]);
		self_leave_locked(&phase_lock);
	}
	return makes ? phase_range_begin(name, NULL) : 0;
}

/* What it does until it ends goes to the phase of that name. */
static void rename_frame(struct state_shard *shard, int k, const char *name)
{
	struct stack *s = &phase_stacks[phase_number(shard)];
	struct frame *f = &s->frame[k];
	int row = phase_row(name, k ? s->frame[k - 1].row + 1 : 0);
	struct state_phase *p = &phase_table()->phase[row];
	phase_table()->phase[f->row].open--;
	if (!p->count && !p->open)
		p->first = f->start;
	p->open++;
	f->row = row;
	f->name = hash_of(name);
	phase_change(shard);
}

/* `name` NULL: it is the phase that it began as. */
static void range_end(uint64_t id, const char *name)
{
	int saved = errno;
	if (id && enter()) {
		struct state_shard *shard = &store_state()->shard[id % STATE_SHARDS];
		struct stack *s = &phase_stacks[id % STATE_SHARDS];
		int k = s->depth;
		checkpoint_end(s);
		while (k-- > 0 && s->frame[k].id != id)
			;
		if (k >= 0) {
			if (name)
				rename_frame(shard, k, name);
			phase_settle_before(shard);
			take_out(s, k);
			phase_change(shard);
		}
		self_leave_locked(&phase_lock);
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
		struct stack *s = &phase_stacks[phase_number(self.shard)];
		checkpoint_end(s);
		int k = s->beyond ? s->depth : last_of(s, of, name);
		s->beyond -= s->beyond > 0;
		if (k < s->depth && as)
			rename_frame(self.shard, k, as);
		if (k < s->depth)
			phase_settle_before(self.shard);
		while (within && s->depth > k + 1)
			pop(s);
		if (k < s->depth)
			take_out(s, k);
		phase_change(self.shard);
		self_leave_locked(&phase_lock);
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
