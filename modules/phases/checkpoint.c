#include "checkpoint.h"

#include "lines.h"
#include "self.h"
#include "state.h"

enum { LEAST = 64 << 10 }; /* bytes: less than that in a file is no state */

/* s: so much of a long write may a killed process lose. */
#define COUNTED_EACH 1e-3

/* Each is a phase within the checkpoint's. */
static const struct {
	enum state_operation_id operation;
	enum io_op op; /* as which it is in the timeline */
	const char *name;
} parts[CHECKPOINT_PARTS] = {{STATE_OP_POSIX_FSYNC, IO_WRITE, "sync"}, {STATE_OP_POSIX_RENAME, IO_META, "rename"}};

static struct done done_of(const struct state_shard *s, int part)
{
	const struct state_operation *o = &s->operation[parts[part].operation];
	return (struct done){o->count, o->time};
}

/* ---- the table ---- */

static void count_part(struct checkpoint *c, int part)
{
	struct done now = done_of(self.shard, part), before = c->done[part];
	double time = now.time - before.time;
	c->done[part] = now;
	if (now.count <= before.count)
		return;
	struct state_phase *p = &phase_table()->phase[phase_row(parts[part].name, c->row)];
	double each = time / (double)(now.count - before.count);
	if (!p->count)
		p->first = c->end - time;
	p->shortest = !p->count || each < p->shortest ? each : p->shortest;
	p->longest = each > p->longest ? each : p->longest;
	p->last = c->end;
	p->count += now.count - before.count;
	p->time += time;
	p->io.busy[parts[part].op] += time;
	phase_table()->phase[c->row - 1].io.busy[parts[part].op] -= time;
}

/* One step, which grows. */
static void count_step(const struct checkpoint *c, const struct state_phase_io *since)
{
	struct state_phases *t = phase_table();
	int64_t n = state_rows(t->steps, STATE_STEPS);
	struct state_step new = {c->row - 1, 1, c->start, c->end, phase_state_busy(since), {0}};
	for (int op = 0; op < 2; op++)
		new.bytes[op] = phase_state_bytes(since, op);
	while (n > 0 && (t->step[n - 1].phase != new.phase || t->step[n - 1].start != new.start))
		n--;
	if (!n) {
		phase_state_step(t, &new);
		return;
	}
	struct state_step *s = &t->step[n - 1];
	s->end = new.end;
	s->io += new.io;
	for (int op = 0; op < 2; op++)
		s->bytes[op] += new.bytes[op];
}

/* The steps around it have it, too. */
static void count_around(struct stack *s, const struct state_phase_io *since)
{
	if (!s->depth)
		return;
	struct frame *f = &s->frame[s->depth - 1];
	f->io += phase_state_busy(since);
	for (int op = 0; op < 2; op++)
		f->bytes[op] += phase_state_bytes(since, op);
}

static void count_time(struct checkpoint *c, struct state_phase *p)
{
	double passed = c->end - c->counted, now = phase_processor();
	double busy = c->processor >= 0 && now > c->processor ? now - c->processor : 0;
	c->time += passed;
	c->counted = c->end;
	c->processor = now;
	p->time += passed;
	p->processor += busy < passed ? busy : passed;
	p->shortest = p->count == 1 ? c->time : p->shortest;
	p->longest = c->time > p->longest ? c->time : p->longest;
	p->last = c->end;
}

static void make_row(const struct stack *s, struct checkpoint *c)
{
	c->row = phase_row("loader: checkpoint", s->depth ? s->frame[s->depth - 1].row + 1 : 0) + 1;
	c->start = c->counted;
	c->time = 0;
	struct state_phase *p = &phase_table()->phase[c->row - 1];
	if (!p->count && !p->open)
		p->first = c->start;
	p->count++;
}

/* What the thread has done since the file was opened, or this was called last. Holds the lock. */
static void count(struct stack *s)
{
	struct checkpoint *c = &s->checkpoint;
	struct state_phase_io now, since = {0}, *settled = &self.shard->phase.settled;
	state_phase_now(self.shard, &now);
	phase_state_add(&since, settled, &now);
	if (!c->large && phase_state_bytes(&since, IO_WRITE) < LEAST)
		return;
	c->large = true;
	if (!c->row)
		make_row(s, c);
	phase_state_add(&phase_table()->phase[c->row - 1].io, settled, &now);
	*settled = now;
	count_time(c, &phase_table()->phase[c->row - 1]);
	for (int part = 0; part < CHECKPOINT_PARTS; part++)
		count_part(c, part);
	count_step(c, &since);
	count_around(s, &since);
}

static void end_file(struct stack *s)
{
	struct checkpoint *c = &s->checkpoint;
	if (c->begun && c->end > c->counted)
		count(s);
	c->begun = false;
}

void checkpoint_end(struct stack *s)
{
	struct checkpoint *c = &s->checkpoint;
	bool any = c->begun || c->row || c->opened;
	if (!any || !self.shard || s != &phase_stacks[phase_number(self.shard)])
		return;
	end_file(s);
	if (c->row) {
		struct state_phase *p = &phase_table()->phase[c->row - 1];
		p->shortest = c->time < p->shortest ? c->time : p->shortest;
	}
	c->large = false;
	c->row = c->opened = 0;
}

/* ---- calls of the thread ---- */

/* NULL: it was not opened since the wait, or is closed. */
static struct opened *find_opened(struct checkpoint *c, uint64_t file)
{
	int known = c->opened < OPENED ? c->opened : OPENED;
	for (int n = 0; n < known; n++)
		if (c->file[n].file == file)
			return &c->file[n];
	return NULL;
}

/* The last file that was written is closed. */
static void note_close(struct stack *s)
{
	struct checkpoint *c = &s->checkpoint;
	int known = c->opened < OPENED ? c->opened : OPENED, written = 0;
	for (int n = 0; n < known; n++)
		written += c->file[n].written;
	if (!written && lock_take_deep(&phase_lock)) {
		end_file(s);
		lock_drop_deep(&phase_lock);
	}
}

/* Closes of streams are only counted: what was written is closed then, at the latest. */
static void note_streams(struct stack *s)
{
	struct checkpoint *c = &s->checkpoint;
	int64_t closes = self.shard->operation[STATE_OP_STDIO_CLOSE].count;
	int known = c->opened < OPENED ? c->opened : OPENED;
	if (closes == c->closes)
		return;
	c->closes = closes;
	for (int n = 0; n < known; n++)
		if (c->file[n].written)
			c->file[n] = (struct opened){0};
	note_close(s);
}

/* An open, or a question about a file: it may be written next. */
static void note_open(struct checkpoint *c, struct opened *o, uint64_t file, const struct lines_call *call)
{
	double *busy = &self.shard->timeline.busy[IO_META], took = call->end - call->start;
	if (o && o->written)
		return;
	if (!c->begun && lock_take_deep(&phase_lock)) {
		*busy -= took; /* what the thread did before goes to its phase, the call itself is the checkpoint's */
		phase_settle(self.shard);
		*busy += took;
		lock_drop_deep(&phase_lock);
	}
	if (!o)
		o = &c->file[c->opened++ % OPENED];
	*o = (struct opened){file, call->start, phase_processor(), false};
}

static void begin_file(struct checkpoint *c, const struct opened *o)
{
	c->begun = true;
	c->large = false;
	c->counted = o->start;
	c->processor = o->processor;
	for (int part = 0; part < CHECKPOINT_PARTS; part++)
		c->done[part] = done_of(self.shard, part);
}

/* False: the call is none of a checkpoint. */
static bool goes_on(struct checkpoint *c, struct opened *o, const struct lines_call *call, bool renamed)
{
	bool syncs = call->op == IO_WRITE && !call->calls;
	if (syncs || renamed)
		return c->begun || c->large;
	if (call->op == IO_WRITE && o && !c->begun)
		begin_file(c, o);
	if (call->op == IO_WRITE && o)
		o->written = true;
	return c->begun && o && o->written;
}

/* A call of a thread that may be in Python code. Inside self_enter; a file's lock may be held. */
static void on_call(const struct file *f, const struct lines_call *call)
{
	struct stack *s = self.shared || !self.shard ? NULL : &phase_stacks[phase_number(self.shard)];
	if (!s || !s->checkpoint.between || call->op == IO_READ)
		return;
	note_streams(s);
	struct checkpoint *c = &s->checkpoint;
	struct opened *o = find_opened(c, f->name->id);
	int64_t renames = self.shard->operation[STATE_OP_POSIX_RENAME].count;
	bool renamed = call->op == IO_META && renames != c->renames;
	c->renames = renames;
	if (call->op == IO_META && call->calls && !renamed) {
		note_open(c, o, f->name->id, call);
		return;
	}
	if (!goes_on(c, o, call, renamed))
		return;
	bool closes = call->op == IO_META && !renamed, written = call->op == IO_WRITE && call->calls;
	c->end = call->end;
	if (closes) {
		*o = (struct opened){0};
		note_close(s);
	} else if ((!written || c->end - c->counted > COUNTED_EACH) && lock_take_deep(&phase_lock)) {
		count(s);
		lock_drop_deep(&phase_lock);
	}
}

void checkpoint_look(struct stack *s)
{
	bool waits = !self.shard || s != &phase_stacks[phase_number(self.shard)];
	for (int k = 0; k < s->depth; k++)
		waits |= s->frame[k].wait;
	s->checkpoint.between = !waits;
	if (waits)
		return;
	s->checkpoint.renames = self.shard->operation[STATE_OP_POSIX_RENAME].count;
	s->checkpoint.closes = self.shard->operation[STATE_OP_STDIO_CLOSE].count;
	lines_also = on_call;
}
