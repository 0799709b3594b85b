/*
 * What the operations on streams do to STDIO records. Offsets belong to the stream, everything else to
 * the file's record.
 *
 * A call that libc serves from the stream's buffer moves a few bytes in some nanoseconds: timing it
 * would cost more than the call. Of such calls only one in STDIO_TIMED is timed, and stands for all of
 * them; the others read the clock once, for the time stamps and the heat map. Where they follow each other
 * closely, all but one in STDIO_CLOCKED do without it, too, and count as at the time of the last one.
 *
 * All functions return at once for an empty span, and keep errno.
 */
#ifndef IOLENS_STDIO_RECORD_H
#define IOLENS_STDIO_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "clock.h"
#include "fds.h"
#include "process_state.h"
#include "self.h"
#include "state.h"

/* A prime, so that no pattern in the program's calls falls into step with it. */
enum { STDIO_TIMED = 61, STDIO_CLOCKED = 16 };

/* As bytes: the call failed or met the end of the file. As whence: libc knows the position. */
enum { STDIO_NOTHING = -1, STDIO_ASK = -1 };

/* An operation that is being watched: no stream = do not record. */
struct stdio_span {
	struct stdio_stream *stream;
	double start; /* s; 0: served from the buffer, not timed; negative: served from the buffer, timed for all */
};

/*
 * In a program that libc and the runtime are linked into, libc's own fgetc, printf or getline call __uflow, __overflow and
 * __getdelim through our wrappers. Such a call is part of the one that the thread is in.
 */
#ifdef IOLENS_LINKED
extern __thread const struct stdio_stream *stdio_entered
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
#define STDIO_ENTER(stream) (stdio_entered = (stream))
#define STDIO_LEAVE()       (stdio_entered = NULL)
#define STDIO_INSIDE(f)     (stdio_entered && stdio_entered == stdio_stream_of(f))
#else
#define STDIO_ENTER(stream) ((void)0)
#define STDIO_LEAVE()       ((void)0)
#define STDIO_INSIDE(f)     false
#endif

/*
 * Before a call: counts what the program did without one since the last; gives a forked child its own file, and a standard stream
 * what its descriptor is. Returns the stream to record for, NULL if there is none any more.
 */
struct stdio_stream *stdio_attend(struct stdio_stream *stream, FILE *f);

static inline struct stdio_stream *stdio_watched(FILE *f)
{
	if (!self_ready())
		return NULL;
	struct stdio_stream *stream = stdio_stream_of(f);
	if (stream && __builtin_expect(__atomic_load_n(&stream->attention, __ATOMIC_RELAXED), 0))
		return stdio_attend(stream, f);
	return stream;
}

/* Counts the characters that the program moved without a call since the last one that we saw. */
void stdio_settle(struct stdio_stream *stream, FILE *f);

/* The file of a stream that the process was born with, in its own store. */
void stdio_adopt(struct stdio_stream *stream, FILE *f);

static inline struct stdio_span stdio_span(FILE *f)
{
	struct stdio_span s = {stdio_watched(f), 0};
	STDIO_ENTER(s.stream);
	if (s.stream)
		s.start = clock_now();
	return s;
}

/* A standard stream on a file, not used by this process: nothing of it waits in libc. */
bool stdio_is_unused(const struct stdio_stream *stream, const FILE *f);

/* Before a flush: many flush at their end what they never used, which is no use of the file that it is redirected to. */
static inline struct stdio_span stdio_span_flush(FILE *f)
{
	struct stdio_span s = {0};
	if (!self_ready())
		return s;
	s.stream = stdio_stream_of(f);
	if (s.stream && __builtin_expect(__atomic_load_n(&s.stream->attention, __ATOMIC_RELAXED), 0))
		s.stream = stdio_is_unused(s.stream, f) ? NULL : stdio_attend(s.stream, f);
	STDIO_ENTER(s.stream);
	if (s.stream)
		s.start = clock_now();
	return s;
}

static inline struct stdio_span stdio_span_buffered(struct stdio_stream *stream, bool buffered)
{
	struct stdio_span s = {stream, 0};
	STDIO_ENTER(stream);
	if (__builtin_expect(!buffered, 0)) {
		s.start = clock_now();
	} else if (__builtin_expect(--stream->until_timed <= 0, 0)) { /* may pass 0 when threads race */
		stream->until_timed = STDIO_TIMED;
		s.start = -clock_now();
	}
	return s;
}

/* The start of a read of `n` bytes. */
static inline struct stdio_span stdio_span_read(FILE *f, size_t n)
{
	struct stdio_stream *stream = stdio_watched(f);
	if (!stream)
		return (struct stdio_span){0};
	return stdio_span_buffered(stream, f->_IO_read_end - f->_IO_read_ptr >= (ptrdiff_t)n);
}

/* The start of a write of `n` bytes. */
static inline struct stdio_span stdio_span_write(FILE *f, size_t n)
{
	struct stdio_stream *stream = stdio_watched(f);
	if (!stream)
		return (struct stdio_span){0};
	return stdio_span_buffered(stream, f->_IO_write_end - f->_IO_write_ptr >= (ptrdiff_t)n);
}

/* A read or write that moved `bytes`, or STDIO_NOTHING. */
void stdio_read(struct stdio_span s, FILE *f, int64_t bytes);
void stdio_write(struct stdio_span s, FILE *f, int64_t bytes);

static inline void stdio_access(struct stdio_span s, FILE *f, enum io_op op, int64_t bytes)
{
	(op == IO_READ ? stdio_read : stdio_write)(s, f, bytes);
}

static inline void stdio_on_read(struct stdio_span s, FILE *f, int64_t bytes)
{
	if (s.stream)
		stdio_read(s, f, bytes);
}

static inline void stdio_on_write(struct stdio_span s, FILE *f, int64_t bytes)
{
	if (s.stream)
		stdio_write(s, f, bytes);
}

/* Part of an item was moved, too, which the call does not tell. */
void stdio_ask_position(struct stdio_stream *stream, FILE *f);

/* The same before the next call. */
static inline void stdio_ask_next(struct stdio_stream *stream)
{
	__atomic_store_n(&stream->moved, true, __ATOMIC_RELAXED);
	__atomic_store_n(&stream->attention, true, __ATOMIC_RELEASE);
}

/* libc's word: in append mode. */
bool stdio_appends(const FILE *f);

/* The last item may be there in part, of which only libc knows. */
__attribute__((cold)) void stdio_on_fewer_items(struct stdio_span s, FILE *f, enum io_op op, size_t size, size_t done);

/* A read or write of complete items. */
static inline void stdio_on_items(struct stdio_span s, FILE *f, enum io_op op, size_t size, size_t asked, size_t done)
{
	if (!s.stream)
		return;
	if (__builtin_expect(done < asked, 0) && size > 1)
		stdio_on_fewer_items(s, f, op, size, done);
	else
		stdio_access(s, f, op, done ? (int64_t)(size * done) : STDIO_NOTHING);
}

/* The start of a call whose bytes only the stream's position tells. */
struct stdio_moving {
	struct stdio_span span;
	const char *read; /* libc's buffer before the call */
	const char *end;
};

struct stdio_moving stdio_moving_from(struct stdio_span s, FILE *f);

static inline struct stdio_moving stdio_span_moving(FILE *f)
{
	return stdio_moving_from(stdio_span(f), f);
}

void stdio_on_scan(struct stdio_moving m, FILE *f, int converted);
void stdio_on_print_wide(struct stdio_moving m, FILE *f, int printed);

/* A program with getc_unlocked or putc_unlocked inside itself has met the end of the buffer. */
void stdio_on_inlined(FILE *f);

/* A pushed-back character will be read again. `bytes` as it is in the file, or STDIO_NOTHING. */
void stdio_on_unget(struct stdio_stream *stream, FILE *f, int64_t bytes);

/* `to` and `whence` as given to fseek. */
void stdio_on_seek(struct stdio_span s, FILE *f, int64_t to, int whence, int result);
void stdio_on_flush(struct stdio_span s, FILE *f, int result);

/* Counts a call that moved no data by its name; what is counted by class only has no time: that of a pipe is its other end's. */
void stdio_count(struct stdio_span s, enum state_operation_id operation, enum io_op op, int result, double end);

/* ---- streams come and go ---- */

void stdio_on_open(struct span s, FILE *f, const char *path, const char *mode);
void stdio_on_fdopen(struct span s, FILE *f, int fd);
void stdio_on_tmpfile(struct span s, FILE *f);
void stdio_on_popen(struct span s, FILE *f);

/* Before the real close: afterwards the address may already be another thread's new stream. */
struct stdio_span stdio_span_close(FILE *f);
void stdio_on_close(struct stdio_span s, int result);

/* freopen: the stream leaves its file as with fclose, and opens another one (path NULL: the same one anew). */
void stdio_on_reopen(struct stdio_span s, struct span opened, FILE *f, const char *path, const char *mode);

/* The program asks for the stream's descriptor: the name of its file, NULL if it is none. */
const char *stdio_shared_name(FILE *f);

/* Adds [start, end] to one of the record's timers, what overlaps with earlier operations only once. */
void stdio_time(struct stdio_file *f, enum io_op op, double start, double end);

/* Brings the record's time stamps of accesses up to date. */
void stdio_stamp(struct stdio_file *f);

void stdio_record_start(void);

/* What libc says about the stream's position, or the kernel where others move it, without touching errno; negative if the stream has none, or another thread has the stream. */
int64_t stdio_tell(const struct stdio_stream *stream, FILE *f);

#endif
