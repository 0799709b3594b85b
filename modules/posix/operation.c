/* Operations that move no data of their own file: meta time, and the counts that Darshan has no place for. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "lines.h"
#include "operation.h"
#include "record.h"
#include "run.h"
#include "sampling.h"
#include "state.h"
#include "store.h"
#include "sys.h"

struct span span_again(struct span s, int fd)
{
	s.fd = fd;
	s.at = s.at ? fds_get(fd) : 0;
	return s;
}

struct span posix_span_operation(int fd)
{
	struct span s = span_path();
	if (s.at && fd >= 0) {
		s.at = fds_get(fd);
		s.at = s.at ? s.at : 1;
		s.fd = fd;
	}
	return s;
}

/* Forcing data to storage is writing, as it is with fsync. */
static enum io_op kind_of(enum state_operation_id operation)
{
	return operation == STATE_OP_POSIX_MSYNC || operation == STATE_OP_POSIX_SYNC ? IO_WRITE : IO_META;
}

void posix_on_operation(struct span s, enum state_operation_id operation, int64_t result, int64_t bytes)
{
	if (!s.at)
		return;
	double end = clock_now();
	self_enter();
	operation_count(operation, kind_of(operation), result < 0, result < 0 ? 0 : bytes, s.start, end);
	self_leave();
}

/* ---- locks ---- */

static struct lock rows; /* guards the store's rows of locks: files without a row of their own share one */

/* The row of a file. Few are locked: nothing is kept with each file for it. */
static struct state_locks *locks_of(const struct posix_file *f)
{
	struct process_state *state = store_state();
	int row = 0, rows_used = (int)state_rows(state->locked, STATE_LOCKED - 1);
	while (row < rows_used && state->locks[row].file != f->name->id)
		row++;
	if (row < rows_used || row == STATE_LOCKED - 1) /* the last is what all others share */
		return &state->locks[row];
	state->locks[row].file = f->name->id;
	state->locked = row + 1;
	return &state->locks[row];
}

static void count_lock(struct state_locks *l, enum posix_lock what, bool refused, double seconds)
{
	l->refused += refused;
	l->shared += !refused && what == POSIX_LOCK_SHARED;
	l->exclusive += !refused && what == POSIX_LOCK_EXCLUSIVE;
	l->released += what == POSIX_LOCK_RELEASED;
	if (what == POSIX_LOCK_RELEASED)
		return;
	l->wait += seconds;
	l->longest = seconds > l->longest ? seconds : l->longest;
}

void posix_on_lock(struct span s, enum posix_lock what, int result, int error)
{
	if (!s.at || what == POSIX_LOCK_NONE)
		return;
	double end = clock_now();
	struct posix_open *o = posix_open_of(s);
	bool refused = result < 0 && (error == EAGAIN || error == EACCES);
	self_enter();
	if (o && (result >= 0 || refused) && lock_take_deep(&rows)) {
		count_lock(locks_of(o->file), what, refused, end - s.start);
		lock_drop_deep(&rows);
	}
	operation_count(STATE_OP_POSIX_LOCK, IO_META, result < 0, 0, s.start, end);
	self_leave();
}

/* ---- operations on descriptors ---- */

/* An operation on a tracked descriptor: its record's meta time, and the counter of its record that is there. Returns its end. */
static double on_record(struct posix_open *o, double start, enum state_operation_id operation, enum io_op op,
			size_t counter)
{
	double end = clock_now();
	struct posix_file *f = o->file;
	self_enter();
	if (lock_take(&f->lock)) {
		++*(int64_t *)((char *)f->record + counter);
		FILE_TIME(f, op, start, end);
		lock_drop(&f->lock);
	}
	operation_count(operation, op, false, 0, start, end);
	self_leave();
	return end;
}

static struct posix_record *record_of(struct span s)
{
	struct posix_open *o = posix_open_of(s);
	return o ? o->file->record : NULL;
}

static void leave_seek(void)
{
	self.shard->operation[STATE_OP_POSIX_SEEK].count++;
	self_leave();
}

/* In a process with several threads. */
__attribute__((noinline)) static void seek_in_run(const struct posix_open *o, int fd)
{
	struct state_run *run = run_of(IO_META, fd);
	self_enter();
	if (run->of != (uintptr_t)o->file)
		run_begin_seeks(o, fd);
	if (run->of == (uintptr_t)o->file)
		run->count++;
	leave_seek();
}

void posix_seek_untimed(struct posix_open *o, int64_t result, int fd)
{
	if (result < 0)
		return;
	run_set(&o->offset, result);
	if (__builtin_expect(!lock_is_needless(), 0)) {
		seek_in_run(o, fd);
		return;
	}
	self_enter();
	o->file->record->seeks++;
	leave_seek();
}

void posix_seek(struct posix_open *o, double start, int64_t result, int fd)
{
	struct span s = {.at = (uintptr_t)o, .start = start, .fd = fd};
	if (result < 0)
		return;
	run_set(&o->offset, result);
	struct sampling *k = sampling_of(fd, IO_META);
	if (sampling_on(k))
		posix_settle(s, IO_META, start);
	double end = on_record(o, start, STATE_OP_POSIX_SEEK, IO_META, offsetof(struct posix_record, seeks));
	sampling_timed(k, s, 0, end);
}

void posix_on_sync(struct span s, bool data_only, int result)
{
	struct posix_open *o = posix_open_of(s);
	if (!o || result != 0)
		return;
	double end =
		on_record(o, s.start, STATE_OP_POSIX_FSYNC, IO_WRITE,
			  data_only ? offsetof(struct posix_record, fdsyncs) : offsetof(struct posix_record, fsyncs));
	self_enter();
	LINES(o->file, WRITTEN_POSIX, IO_WRITE, 0, 0, s.start, end);
	self_leave();
}

void posix_fstat(struct posix_open *o, double start, unsigned mode, int result)
{
	if (result == 0 && S_ISREG(mode))
		on_record(o, start, STATE_OP_POSIX_STAT, IO_META, offsetof(struct posix_record, stats));
}

void posix_on_map(struct span s, int64_t bytes, bool done)
{
	if (!record_of(s) || !done)
		return;
	double end = clock_now();
	self_enter();
	struct posix_file *f = posix_open_of(s)->file;
	if (lock_take(&f->lock)) {
		f->record->mmaps++;
		lock_drop(&f->lock);
	}
	operation_count(STATE_OP_POSIX_MMAP, IO_META, false, bytes, s.start, end);
	self_leave();
}

void posix_stat(double start, int dir, const char *path, unsigned mode, int result)
{
	double end = clock_now();
	self_enter();
	operation_count(STATE_OP_POSIX_STAT, IO_META, result != 0, 0, start, end);
	enum state_class_id class;
	struct posix_file *f = result == 0 && S_ISREG(mode) ? posix_file_at(dir, path, &class) : NULL;
	if (f && lock_take(&f->lock)) {
		f->record->stats++;
		FILE_TIME(f, IO_META, start, end);
		LINES(f, WRITTEN_POSIX, IO_META, 1, 0, start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

static void renamed(struct posix_file *from, int dir, const char *new, double start, double end)
{
	if (lock_take(&from->lock)) {
		from->record->rename_sources++;
		FILE_TIME(from, IO_META, start, end);
		LINES(from, WRITTEN_POSIX, IO_META, 1, 0, start, end);
		lock_drop(&from->lock);
	}
	enum state_class_id class;
	struct posix_file *to = posix_file_at(dir, new, &class);
	if (!to || !lock_take(&to->lock))
		return;
	to->record->rename_targets++;
	if (!to->record->renamed_from)
		to->record->renamed_from = from->name->id;
	lock_drop(&to->lock);
}

void posix_on_rename(struct span s, int old_dir, const char *old, int new_dir, const char *new, int result)
{
	if (!s.at)
		return;
	double end = clock_now();
	self_enter();
	operation_count(STATE_OP_POSIX_RENAME, IO_META, result != 0, 0, s.start, end);
	PATH(p);
	if (result == 0 && names_path(p, old_dir, old)) {
		struct posix_file *from = posix_file_known(p);
		if (from)
			renamed(from, new_dir, new, s.start, end);
	}
	self_leave();
}

static void transfer_end(struct span s, enum io_op op, int64_t at, int64_t moved, double end)
{
	if (span_tracked(s))
		posix_access_until(s, op, NULL, at, moved, end);
	else if (s.at)
		fds_count((enum state_class_id)s.at, op, moved);
}

static void transfer(double start, double end, int from, int64_t from_at, int to, int64_t to_at, int64_t moved)
{
	struct span source = {.at = fds_get(from), .start = start, .fd = from};
	struct span target = {.at = fds_get(to), .start = start, .fd = to};
	double turn = end;
	if (span_tracked(source) && span_tracked(target))
		turn = target.start = start + (end - start) / 2;
	transfer_end(source, IO_READ, from_at, moved, turn);
	transfer_end(target, IO_WRITE, to_at, moved, end);
}

/* Its time is that of the reading and the writing. */
void posix_on_transfer(struct span s, enum state_operation_id operation, int from, int64_t from_at, int to,
		       int64_t to_at, int64_t moved)
{
	if (!s.at)
		return;
	double end = clock_now();
	if (moved >= 0)
		transfer(s.start, end, from, from_at, to, to_at, moved);
	self_enter();
	operation_count_only(operation, moved < 0, moved < 0 ? 0 : moved, end - s.start);
	self_leave();
}

/* ---- copies that share their blocks ---- */

/* As in linux/fs.h. */
struct clone_range {
	int64_t from;
	uint64_t offset, length, to;
};

struct dedupe_range {
	uint64_t offset, length;
	uint16_t count, reserved[3];
	struct {
		int64_t fd;
		uint64_t offset, bytes;
		int32_t status; /* 0 = the same */
		uint32_t reserved;
	} target[];
};

/* Up to the end of the file where no length is named. */
static int64_t cloned(int fd, uint64_t from, uint64_t n)
{
	struct stat s;
	if (n)
		return (int64_t)n;
	return sys_fstat(fd, &s) == 0 && (uint64_t)s.st_size > from ? s.st_size - (int64_t)from : 0;
}

static int64_t deduplicated(const struct dedupe_range *range)
{
	int64_t n = 0;
	for (unsigned i = 0; i < range->count; i++)
		n += range->target[i].status == 0 ? (int64_t)range->target[i].bytes : 0;
	return n;
}

/* The kernel has read the argument, unless it failed. No bytes are read or written: the record of neither file changes. */
void posix_on_clone(struct span s, unsigned long request, const void *argument, int result)
{
	const struct clone_range *range = argument;
	int64_t n = 0;
	if (!s.at)
		return;
	if (result >= 0)
		n = request == POSIX_FICLONE        ? cloned((int)(intptr_t)argument, 0, 0)
		    : request == POSIX_FICLONERANGE ? cloned((int)range->from, range->offset, range->length)
						    : deduplicated(argument);
	posix_on_operation(s, STATE_OP_POSIX_CLONE, result, n);
}
