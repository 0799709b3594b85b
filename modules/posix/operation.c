/* Operations that move no data of their own file: meta time, and the counts that Darshan has no place for. */
#include <errno.h>
#include <string.h>

#include "record.h"
#include "state.h"
#include "sys.h"

static void count(struct live_shard *shard, enum live_operation_id operation, bool failed, int64_t bytes, double time)
{
	struct live_operation *o = &shard->operation[operation];
	o->count++;
	o->errors += failed;
	o->bytes += bytes;
	o->time += time;
}

static void count_kind(enum live_operation_id operation, enum live_kind kind, bool failed, int64_t bytes, double start,
		       double end)
{
	struct live_shard *shard = self_shard();
	count(shard, operation, failed, bytes, end - start);
	live_timeline_add(&shard->timeline, kind, start, end);
	self_shard_done();
}

void posix_count_operation(enum live_operation_id operation, bool failed, int64_t bytes, double start, double end)
{
	count_kind(operation, LIVE_META, failed, bytes, start, end);
}

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

void posix_on_operation(struct span s, enum live_operation_id operation, int64_t result, int64_t bytes)
{
	if (!s.at)
		return;
	double end = clock_now();
	self_enter();
	posix_count_operation(operation, result < 0, result < 0 ? 0 : bytes, s.start, end);
	self_leave();
}

/* An operation on a tracked descriptor: its record's meta time, and one of the record's counters. */
static void on_record(struct span s, enum live_operation_id operation, enum live_kind kind, int64_t *counter)
{
	double end = clock_now();
	struct posix_file *f = posix_open_of(s)->file;
	self_enter();
	lock_take(&f->lock);
	++*counter;
	posix_time(f, kind, s.start, end);
	lock_drop(&f->lock);
	count_kind(operation, kind, false, 0, s.start, end);
	self_leave();
}

static struct posix_record *record_of(struct span s)
{
	struct posix_open *o = posix_open_of(s);
	return o ? o->file->record : NULL;
}

void posix_on_seek(struct span s, int64_t result)
{
	struct posix_record *r = record_of(s);
	if (!r || result < 0)
		return;
	posix_open_of(s)->offset = result;
	on_record(s, LIVE_OP_SEEK, LIVE_META, &r->seeks);
}

void posix_on_sync(struct span s, bool data_only, int result)
{
	struct posix_record *r = record_of(s);
	if (r && result == 0)
		on_record(s, LIVE_OP_FSYNC, LIVE_WRITE, data_only ? &r->fdsyncs : &r->fsyncs);
}

void posix_on_fstat(struct span s, unsigned mode, int result)
{
	struct posix_record *r = record_of(s);
	if (r && result == 0 && S_ISREG(mode))
		on_record(s, LIVE_OP_STAT, LIVE_META, &r->stats);
}

void posix_on_map(struct span s, int64_t bytes, bool done)
{
	struct posix_record *r = record_of(s);
	if (!r || !done)
		return;
	double end = clock_now();
	self_enter();
	lock_take(&posix_open_of(s)->file->lock);
	r->mmaps++;
	lock_drop(&posix_open_of(s)->file->lock);
	posix_count_operation(LIVE_OP_MMAP, false, bytes, s.start, end);
	self_leave();
}

void posix_on_stat(struct span s, int dir, const char *path, unsigned mode, int result)
{
	if (!s.at)
		return;
	double end = clock_now();
	self_enter();
	posix_count_operation(LIVE_OP_STAT, result != 0, 0, s.start, end);
	enum live_class_id class;
	struct posix_file *f = result == 0 && S_ISREG(mode) ? posix_file_at(dir, path, &class) : NULL;
	if (f) {
		lock_take(&f->lock);
		f->record->stats++;
		posix_time(f, LIVE_META, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

static void renamed(struct posix_file *from, int dir, const char *new, double start, double end)
{
	lock_take(&from->lock);
	from->record->rename_sources++;
	posix_time(from, LIVE_META, start, end);
	lock_drop(&from->lock);
	enum live_class_id class;
	struct posix_file *to = posix_file_at(dir, new, &class);
	if (!to)
		return;
	lock_take(&to->lock);
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
	posix_count_operation(LIVE_OP_RENAME, result != 0, 0, s.start, end);
	struct path p;
	if (result == 0 && names_path(&p, old_dir, old)) {
		struct posix_file *from = posix_file_known(&p);
		if (from)
			renamed(from, new_dir, new, s.start, end);
	}
	self_leave();
}

static void transfer_end(struct span s, enum live_kind kind, int64_t at, int64_t moved, double end)
{
	if (span_tracked(s))
		posix_access_until(s, kind, NULL, at, moved, end);
	else if (s.at)
		fds_count((enum live_class_id)s.at, kind, moved);
}

static void transfer(double start, double end, int from, int64_t from_at, int to, int64_t to_at, int64_t moved)
{
	struct span source = {fds_get(from), start, from}, target = {fds_get(to), start, to};
	double turn = end;
	if (span_tracked(source) && span_tracked(target))
		turn = target.start = start + (end - start) / 2;
	transfer_end(source, LIVE_READ, from_at, moved, turn);
	transfer_end(target, LIVE_WRITE, to_at, moved, end);
}

/* Its time is that of the reading and the writing. */
void posix_on_transfer(struct span s, enum live_operation_id operation, int from, int64_t from_at, int to,
		       int64_t to_at, int64_t moved)
{
	if (!s.at)
		return;
	double end = clock_now();
	if (moved >= 0)
		transfer(s.start, end, from, from_at, to, to_at, moved);
	self_enter();
	count(self_shard(), operation, moved < 0, moved < 0 ? 0 : moved, end - s.start);
	self_shard_done();
	self_leave();
}
