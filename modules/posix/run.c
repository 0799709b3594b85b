#include "run.h"

#include "runs.h"
#include "sampling.h"
#include "sizes.h"

void run_find_usual(struct posix_file *f)
{
	int64_t most = f->record->access[0];
	if (!most || f->divides)
		return;
	f->usual_class = (int8_t)sizes_class(most);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* a thread that jumps away here leaves none */
	f->usual = most;
}

static void count_frequent(struct posix_file *f, const struct state_run *run)
{
	struct posix_record *r = f->record;
	frequent_add_all(&f->stride, runs_stride(run), run->count, r->stride, r->stride_count);
	if (__builtin_expect(r->access[0] == run->bytes, 1)) {
		r->access_count[0] += run->count;
		return;
	}
	f->usual = POSIX_NONE;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	frequent_count(&f->access, run->bytes, run->count, r->access, r->access_count);
	run_find_usual(f);
}

/* It has reached its record, and begins anew. */
static void settled(struct state_run *run, struct state_settling *settling)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	run->count = run->mem_not_aligned = run->file_not_aligned = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	settling->run = 0;
}

void run_settle(enum io_op op, int fd)
{
	struct state_run *run = run_of(op, fd);
	if (!run->count)
		return;
	/* 0: a thread that was made to share this one's thread-local memory is just about to begin another. */
	struct posix_file *f = (struct posix_file *)(uintptr_t)__atomic_load_n(&run->of, __ATOMIC_RELAXED);
	if (!f || !lock_take(&f->lock))
		return;
	struct state_settling *settling = &self.shard->settling;
	runs_settle(f->record, op, run, settling, 1 + (uint64_t)(run - self.shard->run[0]));
	if (op != IO_META)
		count_frequent(f, run);
	settled(run, settling);
	lock_drop(&f->lock);
}

void run_give_up(struct state_shard *shard)
{
	uint64_t number = shard->settling.run - 1;
	if (number >= IO_OPS * STATE_RUNS)
		return;
	struct state_run *run = &shard->run[number / STATE_RUNS][number % STATE_RUNS];
	const struct posix_file *f = (struct posix_file *)(uintptr_t)run->of;
	runs_finish(f->record, (enum io_op)(number / STATE_RUNS), run, &shard->settling);
	settled(run, &shard->settling);
}

void run_take_cursor(struct posix_open *o)
{
	uint64_t by = o->by;
	struct lock_wait w = {0};
	__atomic_store_n(&o->by, by ? POSIX_SEVERAL : self.name, __ATOMIC_SEQ_CST);
	while (by && w.turns < 64) /* a microsecond, once: the other thread ends what it began without the lock */
		lock_wait_on(&w, 1);
}

static bool shows(const int64_t *shown, int64_t value)
{
	bool found = !value;
	for (int n = 0; n < FREQUENT_SHOWN; n++)
		found |= shown[n] == value;
	return found;
}

/* Until `of` is set, which comes last, it goes on with no access. */
static void begin(struct state_run *run, const struct posix_file *f, int64_t step, int64_t got)
{
	run->of = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	run->file = f->record->id;
	run->bytes = got;
	run->step = step;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void run_begin(const struct posix_open *o, enum io_op op, int fd, int64_t step, int64_t got)
{
	struct state_run *run = run_of(op, fd);
	const struct posix_file *f = o->file;
	if (run->count)
		return;
	begin(run, f, step, got);
	run_follow(run, o, op);
	const struct posix_record *r = f->record;
	if (!f->divides && got > 0 && shows(r->access, got) && shows(r->stride, runs_stride(run)))
		run->of = (uintptr_t)f;
}

void run_begin_seeks(const struct posix_open *o, int fd)
{
	struct state_run *run = run_of(IO_META, fd);
	const struct posix_file *f = o->file;
	run_settle(IO_META, fd);
	if (run->count)
		return;
	begin(run, f, 0, 0);
	run->of = (uintptr_t)f;
}

void posix_settle(struct span s, enum io_op op, double start)
{
	struct posix_file *f = posix_open_of(s)->file;
	struct sampled before;
	self_enter();
	run_settle(op, s.fd);
	if (sampling_take(s, op, start, &before)) {
		if (lock_take(&f->lock)) {
			FILE_TIME_SPREAD(f, op, before.from, before.until, before.busy);
			lock_drop(&f->lock);
		}
		if (!before.inner)
			state_timeline_spread(&self.shard->timeline, op, before.from, before.until, before.busy);
		if (op == IO_META)
			self.shard->operation[STATE_OP_POSIX_SEEK].time += before.busy;
	}
	self_leave();
}
