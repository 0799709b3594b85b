#include "operation.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../heatmap/record.h"
#include "../posix/record.h"
#include "config.h"
#include "lines.h"
#include "sys.h"
#include "trace.h"

/* What records an access is compiled once for reads and once for writes: the kind is known in each. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* What two readings of the clock at once are apart: more than a getc takes. */
static double clock_cost;

/* libc's own note that there is one thread; there is none before 2.32. */
extern char __libc_single_threaded __attribute__((weak));
static const char *single_threaded;

#ifdef IOLENS_LINKED
__thread const struct stdio_stream *stdio_entered;
#endif

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
	single_threaded = &__libc_single_threaded;
}

/* libc's flags of a stream in append mode, and of one that writes. */
#define APPENDING 0x1000
#define WRITING   0x800

bool stdio_appends(const FILE *f)
{
	return f->_flags & APPENDING;
}

/*
 * Where a stream of append mode is that writes: at the end of its file, or where the program's descriptor is if that appends no
 * longer, and behind the data that wait. ftello() would move the descriptor to the end, under the program's feet.
 */
static int64_t tell_appending(FILE *f)
{
	struct stat s;
	int64_t waiting = f->_IO_write_ptr - f->_IO_write_base;
	if (sys_fstat(f->_fileno, &s) != 0 || !S_ISREG(s.st_mode))
		return -1;
	int64_t at = posix_stream_appends(f->_fileno) ? s.st_size : sys_seek(f->_fileno, 0, SEEK_CUR);
	return at < 0 ? -1 : at + waiting;
}

static bool is_moved_by_asking(const FILE *f)
{
	return stdio_appends(f) && (f->_IO_write_ptr > f->_IO_write_base || f->_flags & WRITING);
}

/* libc's flag of a stream that reads what was pushed back. */
#define PUSHED_BACK 0x100

/* libc remembers where it left the descriptor. Where others may have moved it since, the kernel knows. */
static int64_t tell_by_kernel(FILE *f)
{
	bool plain = f->_fileno >= 0 && f->_mode <= 0 && !(f->_flags & PUSHED_BACK);
	int64_t at = plain ? sys_seek(f->_fileno, 0, SEEK_CUR) : -1;
	bool writes = f->_IO_write_ptr > f->_IO_write_base;
	if (writes && at >= 0 && sys_fcntl(f->_fileno, F_GETFL, 0) & O_APPEND)
		return tell_appending(f);
	return at < 0 ? at : at + (writes ? f->_IO_write_ptr : f->_IO_read_ptr) - f->_IO_read_end;
}

static int64_t tell(const struct stdio_stream *t, FILE *f)
{
	int64_t at = -1;
	if (is_moved_by_asking(f))
		return tell_appending(f);
	if (t && __atomic_load_n(&t->asks, __ATOMIC_RELAXED))
		at = tell_by_kernel(f);
	return at < 0 ? ftello(f) : at;
}

/*
 * Never waits: the stream may belong to a thread that sits in a read of a terminal. (With one thread there
 * is no other to wait for, and ftrylockfile would make the program's own calls lock from then on.)
 */
int64_t stdio_tell(const struct stdio_stream *t, FILE *f)
{
	bool alone = single_threaded && *single_threaded;
	if (!alone && ftrylockfile(f) != 0)
		return -1;
	int saved = errno;
	int64_t at = tell(t, f);
	errno = saved;
	if (!alone)
		funlockfile(f);
	return at;
}

static const char *position(const FILE *f, enum io_op op)
{
	return op == IO_READ ? f->_IO_read_ptr : f->_IO_write_ptr;
}

ALWAYS_INLINE void remember(struct stdio_stream *t, const FILE *f, enum io_op op)
{
	t->seen[op] = position(f, op);
	t->seen[!op] = NULL;
}

/* In the file whose lock it holds: the stream may have been moved to another one since. */
ALWAYS_INLINE void count(struct stdio_stream *t, struct stdio_file *file, enum io_op op, int64_t calls, int64_t bytes)
{
	struct stdio_record *r = file->record;
	FILE_BY_OP(r, op, reads, writes) += calls;
	FILE_BY_OP(r, op, bytes_read, bytes_written) += bytes;
	t->offset += bytes;
	if (t->offset > FILE_BY_OP(r, op, max_byte_read, max_byte_written) + 1)
		FILE_BY_OP(r, op, max_byte_read, max_byte_written) = t->offset - 1;
}

/*
 * The end of the latest access follows at last after this: 248 bytes are no multiple of a cache line, so
 * that these fields share one with the next record, which may be another thread's.
 */
#define STAMP_LAG 1e-3 /* s */

/* Of a file that shares a record each access comes by here: none is due later. */
__attribute__((noinline)) static void stamp_due(struct stdio_stream *t, const FILE *of, struct stdio_file *f,
						enum io_op op, double start, double end)
{
	if (f->first[op] == 0 || start < f->first[op])
		f->first[op] = start;
	FILE_BY_OP(f->record, op, read_start_timestamp, write_start_timestamp) = f->first[op];
	FILE_BY_OP(f->record, op, read_end_timestamp, write_end_timestamp) = end;
	if (names_is_overflow(f->name))
		stdio_weigh(t, f, of);
	else
		f->due[op] = end + STAMP_LAG;
}

ALWAYS_INLINE void stamp_access(struct stdio_stream *t, const FILE *of, struct stdio_file *f, enum io_op op,
				double start, double end)
{
	f->latest[op] = end;
	if (__builtin_expect(end >= f->due[op] || start < f->first[op], 0))
		stamp_due(t, of, f, op, start, end);
}

void stdio_stamp(struct stdio_file *f)
{
	f->record->read_end_timestamp = f->latest[IO_READ];
	f->record->write_end_timestamp = f->latest[IO_WRITE];
}

ALWAYS_INLINE void shard_access(enum io_op op, int64_t bytes, double start, double end)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	heatmap_add(shard, STATE_HEAT_STDIO, op, bytes, start, end);
	state_timeline_add(&shard->timeline, op, start, end);
	self_shard_done();
}

/* One call stands for STDIO_TIMED, of which the others have no place in the timeline but before it. */
static void shard_estimate(enum io_op op, double start, double end)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	struct state_timeline *t = &shard->timeline;
	double latest = t->used ? t->segment[(t->used - 1) % STATE_SEGMENTS].end : 0;
	state_timeline_add(t, op, start > latest ? start : latest, end);
	self_shard_done();
}

ALWAYS_INLINE void shard_buffered(enum io_op op, int64_t bytes, double now)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	heatmap_add(shard, STATE_HEAT_STDIO, op, bytes, now, now);
	self_shard_done();
}

__attribute__((noinline)) static void unusual(struct stdio_stream *t, struct stdio_file *file, enum io_op op,
					      int64_t bytes, double start, double end)
{
	if (self.special)
		trace_access(&file->file, TRACE_STDIO, op, t->offset, bytes, start, end);
	LINES(file, WRITTEN_STDIO, op, 1, bytes, start, end);
}

/* Before it is counted, which moves the offset. Holds the file's lock. */
static inline void trace(struct stdio_stream *t, struct stdio_file *file, enum io_op op, int64_t bytes, double start,
			 double end)
{
	if (__builtin_expect(self.unusual, 0))
		unusual(t, file, op, bytes, start, end);
}

/* ---- calls that the buffer serves, and the clock ---- */

enum { CLOSE_NEEDED = 64 }; /* calls in a row, before not all read the clock */

#define MOST_PERIOD 4e-6 /* s from one call to the next: beyond that the clock costs nothing that matters */

/* A call that read the clock at `now`. Nothing but the program's pauses lies between calls that the buffer serves. */
ALWAYS_INLINE void pace(struct stdio_stream *t, double now)
{
	if (config.times == TIMES_EXACT)
		return;
	int calls = t->close < CLOSE_NEEDED ? 1 : STDIO_CLOCKED;
	bool close = now - t->clocked < calls * MOST_PERIOD || config.times == TIMES_ALWAYS_SAMPLED;
	t->close = close ? t->close + (t->close < CLOSE_NEEDED) : 0;
	t->unclocked = t->close < CLOSE_NEEDED ? 0 : STDIO_CLOCKED - 1;
	t->clocked = now;
}

/* Counts a call that needs no clock; false: it does, or must wait for a lock. The call before was of the same kind. */
ALWAYS_INLINE bool access_unclocked(struct stdio_span s, FILE *f, enum io_op op, int64_t bytes)
{
	struct stdio_stream *t = s.stream;
	bool alone = lock_is_needless(), counted = false;
	if (__builtin_expect(!t->unclocked, 0))
		return false;
	if (s.start != 0 || bytes < 0 || self.special)
		return false;
	struct stdio_file *file = t->file;
	struct lock *l = &file->lock;
	self_enter();
	if (!alone)
		self.taken = l;
	if (alone || lock_try(l)) {
		counted = t->unclocked && t->seen[op] && heatmap_add_near(self.shard, STATE_HEAT_STDIO, op, bytes);
		if (counted) {
			t->unclocked--;
			count(t, file, op, 1, bytes);
			t->seen[op] = position(f, op);
		}
		if (!alone)
			lock_drop(l);
	}
	self_leave();
	return counted;
}

/* Served from the buffer: start 0, or negative where the call was timed. */
ALWAYS_INLINE void access_buffered(struct stdio_span s, FILE *f, enum io_op op, int64_t bytes)
{
	struct stdio_stream *t = s.stream;
	double now = clock_now();
	double all = s.start < 0 ? (now + s.start - clock_cost) * STDIO_TIMED : 0;
	self_enter();
	struct stdio_file *file = t->file;
	if (lock_take(&file->lock)) {
		trace(t, file, op, bytes, now, now);
		count(t, file, op, 1, bytes);
		remember(t, f, op);
		stamp_access(t, f, file, op, now, now);
		pace(t, now);
		if (all > 0)
			FILE_TIME(file, op, now - all, now);
		lock_drop(&file->lock);
	}
	shard_buffered(op, bytes, now);
	if (all > 0)
		shard_estimate(op, now - all, now);
	self_leave();
}

/*
 * Where the access ended, from libc; -1 where the offset is right by itself. That holds for a stream that asks, too, if it
 * stayed within its buffer since it last asked.
 */
static int64_t asked(const struct stdio_stream *t, FILE *f, enum io_op op, int64_t bytes)
{
	if (!__atomic_load_n(&t->asks, __ATOMIC_RELAXED) || (t->seen[op] && position(f, op) == t->seen[op] + bytes))
		return -1;
	return stdio_tell(t, f);
}

/* The position is behind a part of an item, which is in the program's memory and not in what the call has counted. */
static bool is_part(const struct stdio_stream *t, int64_t start)
{
	return t->item && start > t->offset && (uint64_t)(start - t->offset) < t->item;
}

ALWAYS_INLINE void access_timed(struct stdio_span s, FILE *f, enum io_op op, int64_t bytes)
{
	struct stdio_stream *t = s.stream;
	double end = clock_now();
	self_enter();
	int64_t reached = asked(t, f, op, bytes);
	struct stdio_file *file = t->file;
	if (lock_take(&file->lock)) {
		if (reached >= bytes && !is_part(t, reached - bytes))
			t->offset = reached - bytes;
		trace(t, file, op, bytes, s.start, end);
		count(t, file, op, 1, bytes);
		remember(t, f, op);
		stamp_access(t, f, file, op, s.start, end);
		pace(t, s.start);
		t->clocked = end;
		FILE_TIME(file, op, s.start, end);
		lock_drop(&file->lock);
	}
	shard_access(op, bytes, s.start, end);
	self_leave();
}

__attribute__((noinline)) static void read_timed(struct stdio_span s, FILE *f, int64_t bytes)
{
	access_timed(s, f, IO_READ, bytes);
}

__attribute__((noinline)) static void write_timed(struct stdio_span s, FILE *f, int64_t bytes)
{
	access_timed(s, f, IO_WRITE, bytes);
}

/* Served from the buffer, or by a stream that is only counted, or nothing was moved. */
ALWAYS_INLINE void access_other(struct stdio_span s, FILE *f, enum io_op op, int64_t bytes)
{
	if (bytes >= 0 && s.stream->file) {
		access_buffered(s, f, op, bytes);
		return;
	}
	remember(s.stream, f, op);
	if (bytes >= 0)
		fds_count(s.stream->class, op, bytes);
}

__attribute__((noinline)) static void read_other(struct stdio_span s, FILE *f, int64_t bytes)
{
	access_other(s, f, IO_READ, bytes);
}

__attribute__((noinline)) static void write_other(struct stdio_span s, FILE *f, int64_t bytes)
{
	access_other(s, f, IO_WRITE, bytes);
}

static inline bool is_timed(struct stdio_span s, int64_t bytes)
{
	return s.start > 0 && bytes >= 0 && s.stream->file;
}

void stdio_read(struct stdio_span s, FILE *f, int64_t bytes)
{
	STDIO_LEAVE();
	if (access_unclocked(s, f, IO_READ, bytes))
		return;
	(is_timed(s, bytes) ? read_timed : read_other)(s, f, bytes);
}

void stdio_write(struct stdio_span s, FILE *f, int64_t bytes)
{
	STDIO_LEAVE();
	if (access_unclocked(s, f, IO_WRITE, bytes))
		return;
	(is_timed(s, bytes) ? write_timed : write_other)(s, f, bytes);
}

void stdio_on_fewer_items(struct stdio_span s, FILE *f, enum io_op op, size_t size, size_t done)
{
	s.stream->item = op == IO_READ ? size : 0;
	stdio_access(s, f, op, done ? (int64_t)(size * done) : STDIO_NOTHING);
	s.stream->item = 0;
	stdio_ask_position(s.stream, f);
}

void stdio_ask_position(struct stdio_stream *t, FILE *f)
{
	int64_t at = t->file ? stdio_tell(t, f) : -1;
	if (at >= 0)
		t->offset = at;
}

/* ---- calls that do not say what they moved ---- */

struct stdio_moving stdio_moving_from(struct stdio_span s, FILE *f)
{
	struct stdio_moving m = {.span = s};
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
	int64_t at = t->file ? stdio_tell(t, f) : -1;
	int64_t moved = at >= 0 ? at - t->offset : taken_from_buffer(m, f);
	stdio_access(m.span, f, IO_READ, converted > 0 && moved >= 0 ? moved : STDIO_NOTHING);
	if (at >= 0)
		t->offset = at;
}

void stdio_on_print_wide(struct stdio_moving m, FILE *f, int printed)
{
	struct stdio_stream *t = m.span.stream;
	if (!t)
		return;
	int64_t at = t->file && !__atomic_load_n(&t->asks, __ATOMIC_RELAXED) ? stdio_tell(t, f) : -1;
	int64_t moved = at > t->offset ? at - t->offset : printed;
	stdio_access(m.span, f, IO_WRITE, printed > 0 ? moved : STDIO_NOTHING);
}

/* ---- characters that move inside the program ---- */

static const char *buffer_start(const FILE *f, enum io_op op)
{
	return op == IO_READ ? f->_IO_read_base : f->_IO_write_base;
}

static int64_t unseen(const struct stdio_stream *t, const FILE *f, enum io_op op)
{
	const char *seen = t->seen[op], *now = position(f, op);
	return seen && seen >= buffer_start(f, op) && seen < now ? now - seen : 0;
}

static void settle_class(enum state_class_id class, enum io_op op, int64_t n)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	struct state_class *c = &shard->class[class];
	c->calls[op] += n;
	c->bytes[op] += n;
	self_shard_done();
}

static void settle_record(struct stdio_stream *t, const FILE *f, enum io_op op, int64_t n)
{
	double now = clock_now();
	struct stdio_file *file = t->file;
	if (lock_take(&file->lock)) {
		trace(t, file, op, n, now, now);
		count(t, file, op, n, n);
		remember(t, f, op);
		stamp_access(t, f, file, op, now, now);
		lock_drop(&file->lock);
	}
	shard_buffered(op, n, now);
}

static void settle(struct stdio_stream *t, const FILE *f, enum io_op op)
{
	int64_t n = unseen(t, f, op);
	if (!n)
		return;
	self_enter();
	if (t->file)
		settle_record(t, f, op, n);
	else
		settle_class(t->class, op, n);
	self_leave();
}

void stdio_settle(struct stdio_stream *t, FILE *f)
{
	settle(t, f, IO_READ);
	settle(t, f, IO_WRITE);
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
	remember(t, f, IO_READ);
}

/* ---- operations that move no data ---- */

void stdio_count(struct stdio_span s, enum state_operation_id operation, enum io_op op, int result, double end)
{
	if (s.stream->file)
		operation_count(operation, op, result != 0, 0, s.start, end);
	else
		operation_count_only(operation, result != 0, 0, 0);
}

static int64_t new_position(const struct stdio_stream *t, FILE *f, int64_t to, int whence)
{
	int64_t at = whence == SEEK_SET ? to : stdio_tell(t, f);
	return at >= 0 ? at : t->offset;
}

static void seek_record(struct stdio_stream *t, int64_t at, double start, double end)
{
	struct stdio_file *file = t->file;
	if (!lock_take(&file->lock))
		return;
	file->record->seeks++;
	t->offset = at;
	stdio_stamp(file);
	FILE_TIME(file, IO_META, start, end);
	lock_drop(&file->lock);
}

void stdio_on_seek(struct stdio_span s, FILE *f, int64_t to, int whence, int result)
{
	struct stdio_stream *t = s.stream;
	STDIO_LEAVE();
	if (!t)
		return;
	double end = clock_now();
	self_enter();
	t->unclocked = 0;
	remember(t, f, IO_READ);
	if (t->file && result == 0)
		seek_record(t, new_position(t, f, to, whence), s.start, end);
	stdio_count(s, STATE_OP_STDIO_SEEK, IO_META, result, end);
	self_leave();
}

static void flush_record(struct stdio_stream *t, const FILE *f, int64_t reached, double start, double end)
{
	struct stdio_file *file = t->file;
	struct stdio_record *r = file->record;
	if (!lock_take(&file->lock))
		return;
	r->flushes++;
	if (reached > 0) {
		t->offset = reached;
		if (reached > r->max_byte_written + 1)
			r->max_byte_written = reached - 1;
	}
	stamp_access(t, f, file, IO_WRITE, start, end);
	stdio_stamp(file);
	FILE_TIME(file, IO_WRITE, start, end);
	lock_drop(&file->lock);
}

bool stdio_is_unused(const struct stdio_stream *t, const FILE *f)
{
	struct stat s;
	bool standard = t->inherited && strncmp(t->inherited, "<STD", 4) == 0;
	bool waits = f->_IO_write_ptr > f->_IO_write_base || f->_IO_read_ptr < f->_IO_read_end;
	return standard && !waits && sys_fstat(f->_fileno, &s) == 0 && S_ISREG(s.st_mode);
}

void stdio_on_flush(struct stdio_span s, FILE *f, int result)
{
	struct stdio_stream *t = s.stream;
	STDIO_LEAVE();
	if (!t)
		return;
	double end = clock_now();
	self_enter();
	bool asks = __atomic_load_n(&t->asks, __ATOMIC_RELAXED);
	bool written = t->seen[IO_WRITE] && t->seen[IO_WRITE] != f->_IO_write_ptr;
	if (t->file && result == 0)
		flush_record(t, f, asks && written ? stdio_tell(t, f) : -1, s.start, end);
	if (asks) /* others may move the descriptor while nothing waits */
		stdio_ask_next(t);
	remember(t, f, t->seen[IO_WRITE] ? IO_WRITE : IO_READ);
	stdio_count(s, STATE_OP_STDIO_FLUSH, IO_WRITE, result, end);
	self_leave();
}
