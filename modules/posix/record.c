#include "record.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "../heatmap/record.h"
#include "config.h"
#include "lines.h"
#include "operation.h"
#include "run.h"
#include "sampling.h"
#include "sizes.h"
#include "state.h"
#include "sys.h"
#include "trace.h"

/* The code that records an access exists twice: for special threads, and for all others, which pay nothing for them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The offset of an access at the cursor; moves the cursor. */
ALWAYS_INLINE int64_t cursor(struct posix_open *o, enum io_op op, int fd, int64_t got)
{
	if (posix_marks(o) & (op == IO_WRITE ? POSIX_SHARED | POSIX_APPENDS : POSIX_SHARED))
		run_set(&o->offset, sys_seek(fd, 0, SEEK_CUR) - got);
	if (lock_is_needless()) {
		int64_t at = o->offset;
		o->offset += got;
		return at;
	}
	run_share_cursor(o);
	return __atomic_fetch_add(&o->offset, got, __ATOMIC_RELAXED);
}

/* O_APPEND makes even pwrite write at the end. */
static int64_t end_of_file(int fd, int64_t got)
{
	struct stat s;
	return sys_fstat(fd, &s) == 0 ? s.st_size - got : 0;
}

/*
 * Of a write at an offset where the description may append. What another process may have made of that is asked where the clock is
 * read as well.
 */
__attribute__((noinline)) static int64_t where_written(struct posix_open *o, bool ask, int fd, int64_t at, int64_t got)
{
	int flags = ask && posix_marks(o) & POSIX_ASKED ? sys_fcntl(fd, F_GETFL, 0) : -1;
	if (flags >= 0)
		posix_open_append(o, flags & O_APPEND);
	return posix_marks(o) & POSIX_APPENDS ? end_of_file(fd, got) : at;
}

/* Bytes between the end of the last access and one beyond it. */
ALWAYS_INLINE int64_t stride_to(int64_t at, int64_t last)
{
	return at > last && at > 0 && last ? at - last - 1 : 0;
}

ALWAYS_INLINE void count_end(struct posix_record *r, struct posix_open *o, enum io_op op, int64_t end)
{
	run_set(&o->last[op], end);
	if (end > FILE_BY_OP(r, op, max_byte_read, max_byte_written))
		FILE_BY_OP(r, op, max_byte_read, max_byte_written) = end;
}

/* Returns the stride. */
static int64_t count_pattern(struct posix_open *o, struct posix_file *f, enum io_op op, int64_t at, int64_t got)
{
	struct posix_record *r = f->record;
	int64_t last = run_get(&o->last[op]), stride = stride_to(at, last);
	FILE_BY_OP(r, op, seq_reads, seq_writes) += at > last;
	FILE_BY_OP(r, op, consec_reads, consec_writes) += at == last + 1;
	count_end(r, o, op, at + got - 1);
	r->rw_switches += f->last_op >= 0 && f->last_op != (int)op;
	__atomic_store_n(&f->last_op, (int8_t)op, __ATOMIC_RELAXED);
	frequent_add(&f->stride, stride, r->stride, r->stride_count);
	frequent_add(&f->access, got, r->access, r->access_count);
	return stride;
}

static bool unaligned(int64_t at, int64_t alignment)
{
	if (!(alignment & (alignment - 1)))
		return at & (alignment - 1);
	return at % alignment != 0;
}

static void count_access(struct posix_record *r, enum io_op op, const void *buffer, int64_t at, int64_t got)
{
	FILE_BY_OP(r, op, reads, writes)++;
	FILE_BY_OP(r, op, bytes_read, bytes_written) += got;
	(op == IO_READ ? r->size_read : r->size_write)[sizes_class(got)]++;
	r->mem_not_aligned += buffer && unaligned((int64_t)(uintptr_t)buffer, r->mem_alignment);
	r->file_not_aligned += r->file_alignment > 0 && unaligned(at, r->file_alignment);
}

/* Returns the stride. Holds the lock of the file, which a thread that held it before may have moved the open away from. */
__attribute__((noinline)) static int64_t count_any(struct posix_open *o, struct posix_file *f, enum io_op op,
						   const void *buffer, int64_t at, int64_t got)
{
	f->usual = POSIX_NONE;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	count_access(f->record, op, buffer, at, got);
	int64_t stride = count_pattern(o, f, op, at, got);
	run_find_usual(f);
	if (__builtin_expect(names_is_overflow(f->name), 0))
		posix_open_weigh(o, f, got);
	return stride;
}

/*
 * The same where nothing must be looked up: an access as long as most of its file, of the kind of the last one, behind it or as
 * far from it as most. False: it is another one, and nothing is counted.
 */
ALWAYS_INLINE bool count_usual(struct posix_open *o, struct posix_file *f, enum io_op op, const void *buffer,
			       int64_t at, int64_t got)
{
	struct posix_record *r = f->record;
	int64_t last = run_get(&o->last[op]);
	if (got != f->usual || f->last_op != (int8_t)op)
		return false;
	if (__builtin_expect(at == last + 1, 1)) {
		if (!frequent_is_usual(&f->stride, 0, r->stride))
			return false;
		FILE_BY_OP(r, op, seq_reads, seq_writes)++;
		FILE_BY_OP(r, op, consec_reads, consec_writes)++;
	} else {
		int64_t stride = stride_to(at, last);
		if (!frequent_is_usual(&f->stride, stride, r->stride))
			return false;
		FILE_BY_OP(r, op, seq_reads, seq_writes) += at > last;
		r->stride_count[0] += stride != 0;
	}
	FILE_BY_OP(r, op, reads, writes)++;
	FILE_BY_OP(r, op, bytes_read, bytes_written) += got;
	(op == IO_READ ? r->size_read : r->size_write)[f->usual_class]++;
	r->access_count[0]++;
	r->mem_not_aligned += ((uint32_t)(uintptr_t)buffer & f->memory_mask) != 0;
	r->file_not_aligned += ((uint32_t)at & f->file_mask) != 0;
	count_end(r, o, op, at + got - 1);
	return true;
}

ALWAYS_INLINE void count_one(struct posix_open *o, struct posix_file *f, enum io_op op, const void *buffer, int64_t at,
			     int64_t got)
{
	if (!count_usual(o, f, op, buffer, at, got))
		count_any(o, f, op, buffer, at, got);
}

ALWAYS_INLINE void access_shard(bool special, enum io_op op, int64_t got, double start, double end)
{
	struct state_shard *shard = special ? self_shard() : self.shard;
	if (!shard)
		return;
	heatmap_add(shard, STATE_HEAT_POSIX, op, got, start, end);
	state_timeline_add(&shard->timeline, op, start, end);
	if (special)
		self_shard_done();
}

/* Neither of another process's doing. */
ALWAYS_INLINE bool offset_is_known(const struct posix_open *o, enum io_op op, bool at_cursor)
{
	unsigned unknown = (at_cursor ? POSIX_SHARED : 0) | (op == IO_WRITE ? POSIX_APPENDS : 0);
	return !unknown || !(posix_marks(o) & unknown);
}

enum how { USUAL, UNTIMED, SPECIAL };

ALWAYS_INLINE void record_access(enum how how, const struct span *s, enum io_op op, const void *buffer, int64_t at,
				 int64_t got, double end)
{
	struct posix_open *o = posix_open_of(*s);
	struct posix_file *f = o->file;
	bool runs = how == UNTIMED && offset_is_known(o, op, at == AT_CURSOR);
	self_enter();
	if (lock_take(&f->lock)) {
		if (at == AT_CURSOR)
			at = cursor(o, op, s->fd, got);
		else if (op == IO_WRITE && posix_marks(o) & (POSIX_APPENDS | POSIX_ASKED))
			at = where_written(o, how != UNTIMED, s->fd, at, got);
		int64_t last = runs ? run_get(&o->last[op]) : 0;
		count_one(o, f, op, buffer, at, got);
		if (runs)
			run_begin(o, op, s->fd, at - last, got);
		if (how != UNTIMED)
			FILE_ACCESS_TIME(f, op, got, s->start, end);
		if (how == SPECIAL && self.special)
			trace_access(&f->file, TRACE_POSIX, op, at, got, s->start, end);
		lock_drop(&f->lock);
	} else {
		posix_mark(o, POSIX_SHARED); /* the kernel knows where its cursor is now */
	}
	if (how == UNTIMED)
		heatmap_add(self.shard, STATE_HEAT_POSIX, op, got, heatmap_latest(STATE_HEAT_POSIX),
			    heatmap_latest(STATE_HEAT_POSIX));
	else
		access_shard(how == SPECIAL, op, got, s->start, end);
	self_leave();
}

static void add_line(const struct span *s, enum io_op op, int64_t calls, int64_t got, double end)
{
	self_enter();
	LINES(posix_open_of(*s)->file, WRITTEN_POSIX, op, calls, got, s->start, end);
	self_leave();
}

__attribute__((noinline)) static void record_special(const struct span *s, enum io_op op, const void *buffer,
						     int64_t at, int64_t got, double end)
{
	record_access(SPECIAL, s, op, buffer, at, got, end);
}

/* ---- accesses that take no clock ---- */

/* One that is no part of the descriptor's run: the next one may be. */
ALWAYS_INLINE void record_other(enum io_op op, struct posix_open *o, const void *buffer, int64_t at, int64_t got,
				int fd)
{
	struct span s = {.at = (uintptr_t)o, .fd = fd};
	if (got < 0) {
		self_leave();
		return;
	}
	run_settle(op, fd);
	record_access(UNTIMED, &s, op, buffer, at, got, 0);
}

__attribute__((noinline)) static int64_t leave_in_other_bin(enum io_op op, int64_t got)
{
	double latest = heatmap_latest(STATE_HEAT_POSIX);
	heatmap_add(self.shard, STATE_HEAT_POSIX, op, got, latest, latest);
	self_leave();
	return got;
}

/* False: it is no part of the run. */
ALWAYS_INLINE bool add_to_run(enum io_op op, struct posix_open *o, const void *buffer, bool at_cursor, int64_t at,
			      int64_t got, int fd)
{
	struct state_run *run = run_of(op, fd);
	__asm__("" : "+r"(run)); /* the compiler would find it again for each of its numbers */
	if (!offset_is_known(o, op, at_cursor))
		return false;
	at = at_cursor ? run_get(&o->offset) : at;
	if (!run_goes_on(run, o, op, at, got) || (at_cursor && !run_move(o, at, got)))
		return false;
	run_add(run, o, op, buffer, at, got);
	return true;
}

/* What adds it to the heat map, and returns what it got. */
ALWAYS_INLINE int64_t leave_run(enum io_op op, int64_t got)
{
	if (__builtin_expect(!heatmap_add_near(self.shard, STATE_HEAT_POSIX, op, got), 0))
		return leave_in_other_bin(op, got);
	self_leave();
	return got;
}

/* All take what the slow one takes, in its order, so that nothing is moved to call it. */
#define UNTIMED(name, op)                                                                                            \
	__attribute__((noinline)) static int64_t name##_other(struct posix_open *o, const void *buffer, int64_t got, \
							      int fd, int64_t at)                                    \
	{                                                                                                            \
		record_other(op, o, buffer, at, got, fd);                                                            \
		return got;                                                                                          \
	}                                                                                                            \
	int64_t name##_at(struct posix_open *o, const void *buffer, int64_t got, int fd, int64_t at)                 \
	{                                                                                                            \
		self_enter();                                                                                        \
		bool added = add_to_run(op, o, buffer, false, at, got, fd);                                          \
		return added ? leave_run(op, got) : name##_other(o, buffer, got, fd, at);                            \
	}                                                                                                            \
	int64_t name(struct posix_open *o, const void *buffer, int64_t got, int fd)                                  \
	{                                                                                                            \
		self_enter();                                                                                        \
		bool added = add_to_run(op, o, buffer, true, 0, got, fd);                                            \
		return added ? leave_run(op, got) : name##_other(o, buffer, got, fd, AT_CURSOR);                     \
	}

UNTIMED(posix_read_untimed, IO_READ)
UNTIMED(posix_write_untimed, IO_WRITE)

/* Where not all calls are timed: those before have their time now, and the run goes on behind this one. */
__attribute__((noinline)) static void record_settling(const struct span *s, enum io_op op, const void *buffer,
						      int64_t at, int64_t got, double end)
{
	struct state_run *run = run_of(op, s->fd);
	posix_settle(*s, op, s->start);
	record_access(USUAL, s, op, buffer, at, got, end);
	if (!run->count)
		run_follow(run, posix_open_of(*s), op);
	sampling_timed(sampling_of(s->fd, op), *s, got, end);
}

/* Of a thread that may be in Python code. */
__attribute__((noinline)) static void record_lined(const struct span *s, enum io_op op, const void *buffer, int64_t at,
						   int64_t got, double end)
{
	struct sampling *k = sampling_of(s->fd, op);
	uint32_t calls = 1;
	if (self.special) {
		record_special(s, op, buffer, at, got, end);
	} else if (sampling_on(k)) {
		calls = sampling_stands_for(k, *s);
		record_settling(s, op, buffer, at, got, end);
	} else {
		record_access(USUAL, s, op, buffer, at, got, end);
		sampling_timed(k, *s, got, end);
	}
	add_line(s, op, calls, got, end);
}

/* Once for reads and once for writes: the kind is known where each is compiled. */
ALWAYS_INLINE void access_of(enum io_op op, const struct span *s, const void *buffer, int64_t at, int64_t got)
{
	if (got < 0)
		return;
	double end = clock_now();
	struct sampling *k = sampling_of(s->fd, op);
	if (__builtin_expect(self.unusual, 0)) {
		(self.lined ? record_lined : record_special)(s, op, buffer, at, got, end);
	} else if (sampling_on(k)) {
		record_settling(s, op, buffer, at, got, end);
	} else {
		record_access(USUAL, s, op, buffer, at, got, end);
		sampling_timed(k, *s, got, end);
	}
}

void posix_read(struct posix_open *o, double start, const void *buffer, int64_t at, int64_t got, int fd)
{
	struct span s = {.at = (uintptr_t)o, .start = start, .fd = fd};
	access_of(IO_READ, &s, buffer, at, got);
}

/* Its time is that of a write, and in the table of operations that of one which was forced to storage. */
static void count_forced(int64_t got, double start, double end)
{
	self_enter();
	operation_count_only(STATE_OP_POSIX_FORCED_WRITE, false, got, end - start);
	self_leave();
}

__attribute__((noinline)) static void write_forced(struct posix_open *o, double start, const void *buffer, int64_t at,
						   int64_t got, int fd)
{
	struct span s = {.at = (uintptr_t)o, .start = start, .fd = fd};
	double end = clock_now();
	if (got < 0)
		return;
	record_special(&s, IO_WRITE, buffer, at, got, end);
	if (self.lined)
		add_line(&s, IO_WRITE, 1, got, end);
	count_forced(got, start, end);
}

void posix_on_forced(struct span s, int64_t got)
{
	if (span_tracked(s) && got >= 0 && !posix_open_of(s)->forced)
		count_forced(got, s.start, clock_now());
}

void posix_write(struct posix_open *o, double start, const void *buffer, int64_t at, int64_t got, int fd)
{
	struct span s = {.at = (uintptr_t)o, .start = start, .fd = fd};
	if (__builtin_expect(o->forced, 0)) {
		write_forced(o, start, buffer, at, got, fd);
		return;
	}
	access_of(IO_WRITE, &s, buffer, at, got);
}

void posix_access_until(struct span s, enum io_op op, const void *buffer, int64_t at, int64_t got, double end)
{
	record_special(&s, op, buffer, at, got, end);
	if (self.lined)
		add_line(&s, op, 1, got, end);
	if (op == IO_WRITE && posix_open_of(s)->forced)
		count_forced(got, s.start, end);
}

void posix_on_append_vector(struct span s, const struct iovec *v, int count, int64_t at, int64_t got)
{
	if (got < 0)
		return;
	if (at == -1 && span_tracked(s))
		posix_mark(posix_open_of(s), POSIX_SHARED); /* from now on the kernel tells the cursor */
	posix_on_write_vector(s, v, count, span_tracked(s) ? end_of_file(s.fd, got) : at, got);
}

/* Asynchronous accesses have no cursor of their own: -1 is the description's, as the kernel takes it. */
static int64_t request_offset(struct posix_open *o, enum io_op op, int fd, int64_t at, int64_t got)
{
	if ((posix_marks(o) & POSIX_APPENDS || at == AT_END) && op == IO_WRITE)
		return end_of_file(fd, got);
	return at < 0 ? cursor(o, op, fd, got) : at;
}

void posix_on_request(struct span s, enum io_op op, const void *buffer, int64_t at, int64_t got, double submitted,
		      double end)
{
	struct posix_open *o = posix_open_of(s);
	struct posix_file *f = o->file;
	self_enter();
	if (lock_take(&f->lock)) {
		struct posix_record *r = f->record;
		at = request_offset(o, op, s.fd, at, got);
		count_one(o, f, op, buffer, at, got);
		file_stamp(&FILE_BY_OP(r, op, read_start_timestamp, write_start_timestamp),
			   &FILE_BY_OP(r, op, read_end_timestamp, write_end_timestamp), submitted, end);
		FILE_ACCESS_TIME(f, op, got, s.start, end);
		if (self.special)
			trace_access(&f->file, TRACE_POSIX, op, at, got, submitted, end);
		lock_drop(&f->lock);
	}
	struct state_shard *shard = self_shard();
	if (shard) {
		heatmap_add(shard, STATE_HEAT_POSIX, op, got, submitted, end);
		self_shard_done();
	}
	self_leave();
	if (op == IO_WRITE && o->forced)
		count_forced(got, s.start, end);
}

void posix_on_submit(struct span s, enum io_op op, double end)
{
	struct posix_file *f = posix_open_of(s)->file;
	self_enter();
	if (lock_take(&f->lock)) {
		FILE_TIME(f, op, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

/* What one access of `bytes` behind `stride` has added since `was`, `more` times more. */
static void count_again(struct posix_file *f, const struct posix_record *was, int64_t stride, int64_t bytes,
			int64_t more)
{
	static const size_t counters[] = {
		offsetof(struct posix_record, reads),        offsetof(struct posix_record, writes),
		offsetof(struct posix_record, bytes_read),   offsetof(struct posix_record, bytes_written),
		offsetof(struct posix_record, consec_reads), offsetof(struct posix_record, consec_writes),
		offsetof(struct posix_record, seq_reads),    offsetof(struct posix_record, seq_writes),
		offsetof(struct posix_record, rw_switches),  offsetof(struct posix_record, file_not_aligned),
	};
	struct posix_record *r = f->record;
	for (size_t c = 0; c < sizeof counters / sizeof *counters; c++) {
		int64_t *now = (int64_t *)((char *)r + counters[c]);
		*now += more * (*now - *(const int64_t *)((const char *)was + counters[c]));
	}
	for (size_t s = 0; s < sizeof r->size_read / sizeof *r->size_read; s++) {
		r->size_read[s] += more * (r->size_read[s] - was->size_read[s]);
		r->size_write[s] += more * (r->size_write[s] - was->size_write[s]);
	}
	frequent_count(&f->stride, stride, more, r->stride, r->stride_count);
	frequent_count(&f->access, bytes, more, r->access, r->access_count);
}

void posix_on_sampled(struct span s, enum io_op op, int64_t at, int64_t bytes, int64_t times)
{
	struct posix_open *o = posix_open_of(s);
	struct posix_file *f = o->file;
	self_enter();
	if (lock_take(&f->lock)) {
		struct posix_record was = *f->record;
		int64_t stride = count_any(o, f, op, NULL, at, bytes);
		f->usual = POSIX_NONE;
		if (times > 1)
			count_again(f, &was, stride, bytes, times - 1);
		run_find_usual(f);
		lock_drop(&f->lock);
	}
	self_leave();
}

const void *posix_vector_buffer(const struct iovec *vector, int count)
{
	for (int i = 0; i < count; i++)
		if (unaligned((int64_t)(uintptr_t)vector[i].iov_base, config.alignment))
			return vector[i].iov_base;
	return count > 0 ? vector[0].iov_base : NULL;
}
