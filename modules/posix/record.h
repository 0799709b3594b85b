/*
 * What the operations on descriptors do to POSIX records. Offsets and the last bytes read and written
 * belong to the open file description (docs/decisions/0003); everything else to the file's record.
 *
 * All posix_on_ functions return at once for an empty span, and keep errno.
 */
#ifndef IOLENS_POSIX_RECORD_H
#define IOLENS_POSIX_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fds.h"
#include "process_state.h"

#define AT_CURSOR INT64_MIN
#define AT_END    (INT64_MIN + 1) /* of the file, as RWF_APPEND writes */

struct posix_open;

/* Forgets the descriptors of a range that was closed. */
void posix_forget(unsigned first, unsigned last);

/* A read or write on a tracked descriptor that ended: `got` is its result, `at` its explicit offset or AT_CURSOR. */
void posix_read(struct posix_open *o, double start, const void *buffer, int64_t at, int64_t got, int fd);
void posix_write(struct posix_open *o, double start, const void *buffer, int64_t at, int64_t got, int fd);

/* The same for one that took no clock (sampling.h): at the cursor, and at an offset. They return what it got, whatever that is. */
int64_t posix_read_untimed(struct posix_open *o, const void *buffer, int64_t got, int fd);
int64_t posix_write_untimed(struct posix_open *o, const void *buffer, int64_t got, int fd);
int64_t posix_read_untimed_at(struct posix_open *o, const void *buffer, int64_t got, int fd, int64_t at);
int64_t posix_write_untimed_at(struct posix_open *o, const void *buffer, int64_t got, int fd, int64_t at);

/* The same for one that ended at `end` and has a result. */
void posix_access_until(struct span s, enum io_op op, const void *buffer, int64_t at, int64_t got, double end);

/*
 * A request that was submitted at `submitted` and has moved `got` bytes; the program spent [s.start, end] in the call that
 * learned of it. The module that counts requests keeps the timeline, which has a call once for all of its requests.
 */
void posix_on_request(struct span s, enum io_op op, const void *buffer, int64_t at, int64_t got, double submitted,
		      double end);

/* The program spent [s.start, end] in a call that submits requests for the file. */
void posix_on_submit(struct span s, enum io_op op, double end);

/* `times` accesses of which one is known. */
void posix_on_sampled(struct span s, enum io_op op, int64_t at, int64_t bytes, int64_t times);

static inline void posix_on_access(struct span s, enum io_op op, const void *buffer, int64_t at, int64_t got)
{
	struct posix_open *o = (struct posix_open *)s.at;
	if (s.untimed && at == AT_CURSOR)
		(op == IO_READ ? posix_read_untimed : posix_write_untimed)(o, buffer, got, s.fd);
	else if (s.untimed)
		(op == IO_READ ? posix_read_untimed_at : posix_write_untimed_at)(o, buffer, got, s.fd, at);
	else if (span_tracked(s))
		(op == IO_READ ? posix_read : posix_write)(o, s.start, buffer, at, got, s.fd);
	else if (s.at)
		fds_count((enum state_class_id)s.at, op, got);
}

static inline void posix_on_read(struct span s, const void *buffer, int64_t at, int64_t got)
{
	posix_on_access(s, IO_READ, buffer, at, got);
}

static inline void posix_on_write(struct span s, const void *buffer, int64_t at, int64_t got)
{
	posix_on_access(s, IO_WRITE, buffer, at, got);
}

/* The address to test for alignment: that of the first unaligned element, else of the first. Only of a vector that the kernel has read. */
const void *posix_vector_buffer(const struct iovec *vector, int count);

static inline void posix_on_read_vector(struct span s, const struct iovec *v, int count, int64_t at, int64_t got)
{
	if (s.at && got >= 0)
		posix_on_access(s, IO_READ, span_tracked(s) ? posix_vector_buffer(v, count) : NULL, at, got);
}

static inline void posix_on_write_vector(struct span s, const struct iovec *v, int count, int64_t at, int64_t got)
{
	if (s.at && got >= 0)
		posix_on_access(s, IO_WRITE, span_tracked(s) ? posix_vector_buffer(v, count) : NULL, at, got);
}

/* RWF_APPEND: the kernel writes at the end, whatever `at` says; from -1 the cursor goes there, too. */
void posix_on_append_vector(struct span s, const struct iovec *v, int count, int64_t at, int64_t got);

/* A write of a timed span that was forced to storage by itself (RWF_SYNC, RWF_DSYNC); one of a description that forces all counts already. */
void posix_on_forced(struct span s, int64_t got);

/* An open that began at `start`. */
void posix_opened(double start, int fd, int dir, const char *path, int flags, int mode);

static inline void posix_on_open(struct span s, int fd, int dir, const char *path, int flags, int mode)
{
	if (s.at)
		posix_opened(s.start, fd, dir, path, flags, mode);
}

struct path;
/* names_open_class for what the process has opened; names_class for what it was given open. */
typedef enum state_class_id posix_filter(int module, const struct path *p);

/* The path of an open regular file, or the class for which a module has no record of it. Inside self_enter. */
enum state_class_id posix_path_of(int fd, int module, posix_filter *filter, struct path *p);

/* The same of any open descriptor, with names_open_class: the class of a pipe, socket or device, too. Inside self_enter. */
enum state_class_id posix_behind(int fd, int module, struct path *p);

/* A new descriptor of something that has no records: its number may have been another's that was closed unseen. */
static inline void posix_made(int fd)
{
	if (fd >= 0 && (fds_peek(fd) || fds_foreign()))
		posix_forget((unsigned)fd, (unsigned)fd);
}

/* A queue of messages was opened: for the kernel a file, whose name is that of no path. */
void posix_on_queue(int fd);

/* An open without a path: the file's name comes from the kernel. */
void posix_on_open_unnamed(struct span s, int fd);

/* Before the real close: afterwards the number may already be another thread's new file. The entry that it had. */
uintptr_t posix_leave(int fd);
void posix_closed(struct posix_open *o, double start, int fd);

static inline struct span posix_span_close(int fd)
{
	struct span s = {.fd = fd, .at = posix_leave(fd)};
	if (span_tracked(s))
		s.start = clock_now();
	return s;
}

static inline void posix_on_close(struct span s)
{
	if (span_tracked(s))
		posix_closed((struct posix_open *)s.at, s.start, s.fd);
}

/* fcntl(F_SETFL): the append flag may have changed. */
void posix_on_flags(struct span s, int flags);
void posix_on_dup(struct span s, int fd);

void posix_on_fileno(struct span s, int fd, const char *name);

/* The descriptor was sent over a socket: the process that gets it may move its offset, and set its flags. */
void posix_on_sent(int fd);

/* The descriptor has a stream from now on: libc moves its offset behind our back. */
void posix_on_stream(int fd, bool appends);

/* Does the descriptor of a stream that appends still do so? Another process that has it may have changed that, too. */
bool posix_stream_appends(int fd);
void posix_seek(struct posix_open *o, double start, int64_t result, int fd);
void posix_seek_untimed(struct posix_open *o, int64_t result, int fd);

static inline void posix_on_seek(struct span s, int64_t result)
{
	if (s.untimed)
		posix_seek_untimed((struct posix_open *)s.at, result, s.fd);
	else if (span_tracked(s))
		posix_seek((struct posix_open *)s.at, s.start, result, s.fd);
}

void posix_on_sync(struct span s, bool data_only, int result);
void posix_on_map(struct span s, int64_t bytes, bool done);

/* Inside libc's mmap, munmap or mremap, which those that hook them make by syscall(): the same call. */
extern __thread bool posix_mapping __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct stat;
/* stat by path (dir, path) of something whose mode the caller knows. */
void posix_stat(double start, int dir, const char *path, unsigned mode, int result);

static inline void posix_on_stat(struct span s, int dir, const char *path, unsigned mode, int result)
{
	if (s.at)
		posix_stat(s.start, dir, path, mode, result);
}

void posix_fstat(struct posix_open *o, double start, unsigned mode, int result);

static inline void posix_on_fstat(struct span s, unsigned mode, int result)
{
	if (span_tracked(s))
		posix_fstat((struct posix_open *)s.at, s.start, mode, result);
}

void posix_on_rename(struct span s, int old_dir, const char *old, int new_dir, const char *new, int result);

/* An operation without a Darshan counter: counted by name only, with bytes where it moves any. */
void posix_on_operation(struct span s, enum state_operation_id operation, int64_t result, int64_t bytes);

/* The same start, for a descriptor that is known only now. */
struct span span_again(struct span s, int fd);

enum posix_lock { POSIX_LOCK_NONE, POSIX_LOCK_SHARED, POSIX_LOCK_EXCLUSIVE, POSIX_LOCK_RELEASED };

/* An advisory lock was requested or released; `error`: errno of a call that failed. The span is posix_span_operation's. */
void posix_on_lock(struct span s, enum posix_lock what, int result, int error);

/* The start of such an operation on a descriptor that may be untracked: time is taken all the same. */
struct span posix_span_operation(int fd);

/* Bytes that went from one descriptor to another inside the kernel: a read there, a write here, half of the time each. */
void posix_on_transfer(struct span s, enum state_operation_id operation, int from, int64_t from_at, int to,
		       int64_t to_at, int64_t moved);

/* Requests to ioctl that let files share blocks: of linux/fs.h since 4.5. */
#define POSIX_FICLONE       0x40049409ul
#define POSIX_FICLONERANGE  0x4020940dul
#define POSIX_FIDEDUPERANGE 0xc0189436ul
static inline bool posix_clones(unsigned long request)
{
	return request == POSIX_FICLONE || request == POSIX_FICLONERANGE || request == POSIX_FIDEDUPERANGE;
}
void posix_on_clone(struct span s, unsigned long request, const void *argument, int result);

/* Where a call began that moved `moved` bytes: an offset is read only when the kernel has taken it, and moved it on. */
static inline int64_t posix_began(const int64_t *at, int64_t moved)
{
	return at && moved >= 0 ? *at - moved : AT_CURSOR;
}

/*
 * Asynchronous I/O: remembered before it is submitted, recorded when its result is known: returned, or in the control block
 * of a request that is done. At the end, requests that are done and whose result the program never read.
 */
struct aiocb;
void posix_aio_submit(const struct aiocb *control, enum io_op op);
void posix_aio_returned(const struct aiocb *control, int64_t got);
void posix_aio_done(const struct aiocb *control);
void posix_aio_end(void);

/* In a forked child: what the parent submitted is the parent's. */
void posix_aio_forget(void);

#endif
