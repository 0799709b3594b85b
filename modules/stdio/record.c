#include "record.h"

#include <dlfcn.h>
#include <errno.h>

#include "../heatmap/record.h"

/* Neighbours in the record by kind: read, write; or the other way round, with meta time before them. */
#define BY_KIND(record, field)      ((&(record)->field)[kind])
#define BACK_BY_KIND(record, field) ((&(record)->field)[-(int)kind])

/* What two readings of the clock at once are apart: more than a getc takes. */
static double clock_cost;

/* libc's own note that there is one thread; NULL where it keeps none. */
static const char *single_threaded;

static double measured_clock_cost(void)
{
	double least = 1;
	for (int i = 0; i < 16; i++) {
		double before = clock_now();
		double took = clock_now() - before;
		least = took < least ? took : least;
	}
	return least;
}

void stdio_record_start(void)
{
	clock_cost = measured_clock_cost();
	single_threaded = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
}

void stdio_time(struct stdio_file *f, enum live_kind kind, double start, double end)
{
	double from = start > f->ended[kind] ? start : f->ended[kind];
	if (end <= from)
		return;
	BACK_BY_KIND(f->record, read_time) += end - from;
	f->ended[kind] = end;
}

/*
 * Never waits: the stream may belong to a thread that sits in a read of a terminal. (With one thread there
 * is nobody to wait for, and ftrylockfile would make the program's own calls lock from then on.)
 */
int64_t stdio_tell(FILE *f)
{
	bool alone = single_threaded && *single_threaded;
	if (!alone && ftrylockfile(f) != 0)
		return -1;
	int saved = errno;
	int64_t at = ftello(f);
	errno = saved;
	if (!alone)
		funlockfile(f);
	return at;
}

static const char *position(const FILE *f, enum live_kind kind)
{
	return kind == LIVE_READ ? f->_IO_read_ptr : f->_IO_write_ptr;
}

static void remember(struct stdio_stream *t, const FILE *f, enum live_kind kind)
{
	t->seen[kind] = position(f, kind);
	t->seen[!kind] = NULL;
}

static void count(struct stdio_stream *t, enum live_kind kind, int64_t calls, int64_t bytes)
{
	struct stdio_record *r = t->file->record;
	BY_KIND(r, reads) += calls;
	BACK_BY_KIND(r, bytes_read) += bytes;
	t->offset += bytes;
	if (t->offset > BY_KIND(r, max_byte_read) + 1)
		BY_KIND(r, max_byte_read) = t->offset - 1;
}

/*
 * The end of the latest access follows at last after this: 248 bytes are no multiple of a cache line, so
 * that these fields share one with the next record, which may be another thread's.
 */
#define STAMP_LAG 1e-3 /* s */

static void stamp_access(struct stdio_file *f, enum live_kind kind, double start, double end)
{
	f->latest[kind] = end;
	if (end < f->due[kind] && start >= f->first[kind])
		return;
	if (f->first[kind] == 0 || start < f->first[kind])
		f->first[kind] = start;
	BACK_BY_KIND(f->record, read_start_timestamp) = f->first[kind];
	BACK_BY_KIND(f->record, read_end_timestamp) = end;
	f->due[kind] = end + STAMP_LAG;
}

void stdio_stamp(struct stdio_file *f)
{
	f->record->read_end_timestamp = f->latest[LIVE_READ];
	f->record->write_end_timestamp = f->latest[LIVE_WRITE];
}

static void shard_access(enum live_kind kind, int64_t bytes, double start, double end)
{
	struct live_shard *shard = self_shard();
	heatmap_add(shard, LIVE_HEAT_STDIO, kind, bytes, start, end);
	live_timeline_add(&shard->timeline, kind, start, end);
	self_shard_done();
}

/* One call stands for STDIO_TIMED, of which the others have no place in the timeline but before it. */
static void shard_estimate(enum live_kind kind, double start, double end)
{
	struct live_timeline *t = &self_shard()->timeline;
	double latest = t->used ? t->segment[t->used - 1].end : 0;
	live_timeline_add(t, kind, start > latest ? start : latest, end);
	self_shard_done();
}

static void shard_buffered(enum live_kind kind, int64_t bytes, double now)
{
	heatmap_add(self_shard(), LIVE_HEAT_STDIO, kind, bytes, now, now);
	self_shard_done();
}

/* Served from the buffer: start 0, or negative where the call was timed. */
static void access_buffered(struct stdio_span s, FILE *f, enum live_kind kind, int64_t bytes)
{
	struct stdio_stream *t = s.stream;
	double now = clock_now();
	double all = s.start < 0 ? (now + s.start - clock_cost) * STDIO_TIMED : 0;
	self_enter();
	lock_take(&t->file->lock);
	count(t, kind, 1, bytes);
	remember(t, f, kind);
	stamp_access(t->file, kind, now, now);
	if (all > 0)
		stdio_time(t->file, kind, now - all, now);
	lock_drop(&t->file->lock);
	shard_buffered(kind, bytes, now);
	if (all > 0)
		shard_estimate(kind, now - all, now);
	self_leave();
}

/*
 * Where the access ended, from libc; -1 where the offset is right by itself: also a stream that asks
 * has not left its buffer since it last did.
 */
static int64_t asked(const struct stdio_stream *t, FILE *f, enum live_kind kind, int64_t bytes)
{
	if (!t->asks || (t->seen[kind] && position(f, kind) == t->seen[kind] + bytes))
		return -1;
	return stdio_tell(f);
}

static void access_timed(struct stdio_span s, FILE *f, enum live_kind kind, int64_t bytes)
{
	struct stdio_stream *t = s.stream;
	double end = clock_now();
	self_enter();
	int64_t reached = asked(t, f, kind, bytes);
	lock_take(&t->file->lock);
	if (reached >= bytes)
		t->offset = reached - bytes;
	count(t, kind, 1, bytes);
	remember(t, f, kind);
	stamp_access(t->file, kind, s.start, end);
	stdio_time(t->file, kind, s.start, end);
	lock_drop(&t->file->lock);
	shard_access(kind, bytes, s.start, end);
	self_leave();
}

void stdio_access(struct stdio_span s, FILE *f, enum live_kind kind, int64_t bytes)
{
	if (bytes < 0 || !s.stream->file) {
		remember(s.stream, f, kind);
		if (bytes >= 0)
			fds_count(s.stream->class, kind, bytes);
		return;
	}
	if (s.start > 0)
		access_timed(s, f, kind, bytes);
	else
		access_buffered(s, f, kind, bytes);
}

/* Part of an item was moved too, which the call does not tell. */
static void tell_again(struct stdio_stream *t, FILE *f)
{
	int64_t at = stdio_tell(f);
	if (at >= 0)
		t->offset = at;
}

void stdio_on_items(struct stdio_span s, FILE *f, enum live_kind kind, size_t size, size_t asked, size_t done)
{
	if (!s.stream)
		return;
	stdio_access(s, f, kind, done ? (int64_t)(size * done) : STDIO_NOTHING);
	if (done < asked && size > 1 && s.stream->file)
		tell_again(s.stream, f);
}

/* ---- calls that do not say what they moved ---- */

struct stdio_moving stdio_span_moving(FILE *f)
{
	struct stdio_moving m = {.span = stdio_span(f)};
	if (m.span.stream) {
		m.read = f->_IO_read_ptr;
		m.end = f->_IO_read_end;
	}
	return m;
}

/*
 * By the buffer: right when libc has refilled it once at most. A scan that found something took a byte at
 * least, so the same position means that as much came as went.
 */
static int64_t taken_from_buffer(struct stdio_moving m, const FILE *f)
{
	if (f->_IO_read_end == m.end && f->_IO_read_ptr > m.read)
		return f->_IO_read_ptr - m.read;
	return (m.end - m.read) + (f->_IO_read_ptr - f->_IO_read_base);
}

void stdio_on_scan(struct stdio_moving m, FILE *f, int converted)
{
	struct stdio_stream *t = m.span.stream;
	if (!t)
		return;
	int64_t at = t->file ? stdio_tell(f) : -1;
	int64_t moved = at >= 0 ? at - t->offset : taken_from_buffer(m, f);
	stdio_access(m.span, f, LIVE_READ, converted > 0 && moved >= 0 ? moved : STDIO_NOTHING);
	if (at >= 0)
		t->offset = at;
}

void stdio_on_print_wide(struct stdio_moving m, FILE *f, int printed)
{
	struct stdio_stream *t = m.span.stream;
	if (!t)
		return;
	int64_t at = t->file && !t->asks ? stdio_tell(f) : -1;
	int64_t moved = at > t->offset ? at - t->offset : printed;
	stdio_access(m.span, f, LIVE_WRITE, printed > 0 ? moved : STDIO_NOTHING);
}

/* ---- characters that move inside the program ---- */

static const char *buffer_start(const FILE *f, enum live_kind kind)
{
	return kind == LIVE_READ ? f->_IO_read_base : f->_IO_write_base;
}

static int64_t unseen(const struct stdio_stream *t, const FILE *f, enum live_kind kind)
{
	const char *seen = t->seen[kind], *now = position(f, kind);
	return seen && seen >= buffer_start(f, kind) && seen < now ? now - seen : 0;
}

static void settle_class(enum live_class_id class, enum live_kind kind, int64_t n)
{
	struct live_class *c = &self_shard()->class[class];
	c->calls[kind] += n;
	c->bytes[kind] += n;
	self_shard_done();
}

static void settle_record(struct stdio_stream *t, const FILE *f, enum live_kind kind, int64_t n)
{
	double now = clock_now();
	lock_take(&t->file->lock);
	count(t, kind, n, n);
	remember(t, f, kind);
	stamp_access(t->file, kind, now, now);
	lock_drop(&t->file->lock);
	shard_buffered(kind, n, now);
}

static void settle(struct stdio_stream *t, const FILE *f, enum live_kind kind)
{
	int64_t n = unseen(t, f, kind);
	if (!n)
		return;
	self_enter();
	if (t->file)
		settle_record(t, f, kind, n);
	else
		settle_class(t->class, kind, n);
	self_leave();
}

void stdio_settle(struct stdio_stream *t, FILE *f)
{
	settle(t, f, LIVE_READ);
	settle(t, f, LIVE_WRITE);
}

void stdio_attend(struct stdio_stream *t, FILE *f)
{
	if (t->inherited)
		stdio_adopt(t, f);
	if (t->inlined)
		stdio_settle(t, f);
	else
		t->attention = false;
}

void stdio_on_inlined(FILE *f)
{
	struct stdio_stream *t = self_ready() ? stdio_stream_of(f) : NULL;
	if (t)
		t->inlined = t->attention = true;
}

void stdio_on_unget(struct stdio_stream *t, FILE *f, int64_t bytes)
{
	if (!t || bytes < 0)
		return;
	t->offset -= t->offset >= bytes ? bytes : t->offset;
	remember(t, f, LIVE_READ);
}

/* ---- operations that move no data ---- */

void stdio_count_operation(enum live_operation_id operation, enum live_kind kind, bool failed, double start, double end)
{
	struct live_shard *shard = self_shard();
	struct live_operation *o = &shard->operation[operation];
	o->count++;
	o->errors += failed;
	o->time += end - start;
	live_timeline_add(&shard->timeline, kind, start, end);
	self_shard_done();
}

static int64_t new_position(const struct stdio_stream *t, FILE *f, int64_t to, int whence)
{
	int64_t at = whence == SEEK_SET ? to : stdio_tell(f);
	return at >= 0 ? at : t->offset;
}

static void seek_record(struct stdio_stream *t, int64_t at, double start, double end)
{
	lock_take(&t->file->lock);
	t->file->record->seeks++;
	t->offset = at;
	stdio_stamp(t->file);
	stdio_time(t->file, LIVE_META, start, end);
	lock_drop(&t->file->lock);
}

void stdio_on_seek(struct stdio_span s, FILE *f, int64_t to, int whence, int result)
{
	struct stdio_stream *t = s.stream;
	if (!t)
		return;
	double end = clock_now();
	self_enter();
	remember(t, f, LIVE_READ);
	if (t->file && result == 0)
		seek_record(t, new_position(t, f, to, whence), s.start, end);
	stdio_count_operation(LIVE_OP_STDIO_SEEK, LIVE_META, result != 0, s.start, end);
	self_leave();
}

static void flush_record(struct stdio_stream *t, int64_t reached, double start, double end)
{
	struct stdio_record *r = t->file->record;
	lock_take(&t->file->lock);
	r->flushes++;
	if (reached > 0) {
		t->offset = reached;
		if (reached > r->max_byte_written + 1)
			r->max_byte_written = reached - 1;
	}
	stamp_access(t->file, LIVE_WRITE, start, end);
	stdio_stamp(t->file);
	stdio_time(t->file, LIVE_WRITE, start, end);
	lock_drop(&t->file->lock);
}

void stdio_on_flush(struct stdio_span s, FILE *f, int result)
{
	struct stdio_stream *t = s.stream;
	if (!t)
		return;
	double end = clock_now();
	self_enter();
	bool written = t->seen[LIVE_WRITE] && t->seen[LIVE_WRITE] != f->_IO_write_ptr;
	if (t->file && result == 0)
		flush_record(t, t->asks && written ? stdio_tell(f) : -1, s.start, end);
	remember(t, f, t->seen[LIVE_WRITE] ? LIVE_WRITE : LIVE_READ);
	stdio_count_operation(LIVE_OP_STDIO_FLUSH, LIVE_WRITE, result != 0, s.start, end);
	self_leave();
}
