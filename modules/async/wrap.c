/* libaio and liburing: both return -errno. */
#include "wrap.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "../posix/record.h"
#include "request.h"
#include "self.h"

static int unsupported(void)
{
	return -ENOSYS;
}

#define UNPACK(...) __VA_ARGS__

/* What the library makes system calls for is counted here, not as the program's own; nor are calls that it makes of itself. */
#define INSIDE(call)                       \
	({                                 \
		bool before = self.inside; \
		self.inside = true;        \
		int result = call;         \
		self.inside = before;      \
		result;                    \
	})

/* ---- libaio ---- */

WRAP_LATE(int, io_submit, "libaio", unsupported, void *context, long n, void **blocks)
{
	struct async_call call = async_call_begin(STATE_ASYNC_LIBAIO);
	libaio_submit(&call, context, n, blocks);
	int done = INSIDE(NEXT(io_submit)(context, n, blocks));
	async_call_returned(&call);
	libaio_submitted(&call, context, n, blocks, done);
	async_call_end(&call);
	return done;
}

#define GET_EVENTS(name, parameters, arguments)                                \
	WRAP_LATE(int, name, "libaio", unsupported, UNPACK parameters)         \
	{                                                                      \
		struct async_call call = async_call_begin(STATE_ASYNC_LIBAIO); \
		int got = INSIDE(NEXT(name) arguments);                        \
		async_call_returned(&call);                                    \
		libaio_completed(&call, context, events, got);                 \
		async_call_end(&call);                                         \
		return got;                                                    \
	}

GET_EVENTS(io_getevents, (void *context, long least, long n, void *events, struct timespec *timeout),
	   (context, least, n, events, timeout))
GET_EVENTS(io_pgetevents, (void *context, long least, long n, void *events, struct timespec *timeout, sigset_t *mask),
	   (context, least, n, events, timeout, mask))

WRAP_LATE(int, io_cancel, "libaio", unsupported, void *context, void *block, void *event)
{
	struct async_call call = async_call_begin(STATE_ASYNC_LIBAIO);
	int code = NEXT(io_cancel)(context, block, event);
	async_call_returned(&call);
	libaio_completed(&call, context, event, code == 0);
	async_call_end(&call);
	return code;
}

/* The kernel waits for what is in flight. */
WRAP_LATE(int, io_destroy, "libaio", unsupported, void *context)
{
	int code = NEXT(io_destroy)(context);
	if (code == 0)
		async_settle((uintptr_t)context);
	return code;
}

/* ---- liburing ---- */

/* liburing makes and closes the ring's descriptor by itself. */
static void made(int code, const void *ring)
{
	if (code < 0)
		return;
	self_count(STATE_OP_UNSEEN_IO_URING_SETUP, 1, 0, 0);
	posix_made(uring_descriptor(ring));
}

#define MAKES(name, parameters, arguments)                               \
	WRAP_LATE(int, name, "liburing", unsupported, UNPACK parameters) \
	{                                                                \
		int code = INSIDE(NEXT(name) arguments);                 \
		made(code, ring);                                        \
		return code;                                             \
	}

MAKES(io_uring_queue_init, (unsigned entries, void *ring, unsigned flags), (entries, ring, flags))
MAKES(io_uring_queue_init_params, (unsigned entries, void *ring, void *parameters), (entries, ring, parameters))
MAKES(io_uring_queue_init_mem, (unsigned entries, void *ring, void *parameters, void *memory, size_t n),
      (entries, ring, parameters, memory, n))

/* What liburing has worked on is sound memory; calls that it refuses, or cannot be made, are not looked at. */
static void looked(struct async_call *c, int code, const void *ring)
{
	bool worked = code >= 0 || code == -ETIME || code == -EINTR || code == -EAGAIN || code == -EBUSY;
	async_call_returned(c);
	if (worked)
		uring_look(c, ring);
	async_call_end(c);
}

#define ENTERS(name, submits, parameters, arguments)                             \
	WRAP_LATE(int, name, "liburing", unsupported, UNPACK parameters)         \
	{                                                                        \
		struct async_call call = async_call_begin(STATE_ASYNC_IO_URING); \
		self_count(STATE_OP_UNSEEN_IO_URING_ENTER, 1, 0, 0);             \
		if (submits)                                                     \
			uring_submitting(&call, ring);                           \
		int code = INSIDE(NEXT(name) arguments);                         \
		looked(&call, code, ring);                                       \
		return code;                                                     \
	}

#define WAIT_FOR void *ring, void **done, unsigned n, struct timespec *timeout, sigset_t *mask

ENTERS(io_uring_submit, true, (void *ring), (ring))
ENTERS(io_uring_submit_and_wait, true, (void *ring, unsigned n), (ring, n))
ENTERS(io_uring_submit_and_wait_timeout, true, (WAIT_FOR), (ring, done, n, timeout, mask))
ENTERS(io_uring_submit_and_wait_min_timeout, true,
       (void *ring, void **done, unsigned n, struct timespec *timeout, unsigned least, sigset_t *mask),
       (ring, done, n, timeout, least, mask))
ENTERS(io_uring_submit_and_wait_reg, true, (void *ring, void **done, unsigned n, int at), (ring, done, n, at))
ENTERS(io_uring_submit_and_get_events, true, (void *ring), (ring))
ENTERS(io_uring_get_events, false, (void *ring), (ring))
ENTERS(io_uring_wait_cqes, false, (WAIT_FOR), (ring, done, n, timeout, mask))
ENTERS(io_uring_wait_cqe_timeout, false, (void *ring, void **done, struct timespec *timeout), (ring, done, timeout))
ENTERS(__io_uring_get_cqe, submit > 0, (void *ring, void **done, unsigned submit, unsigned n, sigset_t *mask),
       (ring, done, submit, n, mask))

WRAP_LATE(unsigned, io_uring_peek_batch_cqe, "liburing", unsupported, void *ring, void **done, unsigned n)
{
	struct async_call call = async_call_begin(STATE_ASYNC_IO_URING);
	unsigned got = (unsigned)INSIDE((int)NEXT(io_uring_peek_batch_cqe)(ring, done, n));
	looked(&call, (int)got, ring);
	return got;
}

/* ---- a ring's table of files ---- */

WRAP_LATE(int, io_uring_register_files, "liburing", unsupported, void *ring, const int *files, unsigned n)
{
	int code = NEXT(io_uring_register_files)(ring, files, n);
	if (code >= 0)
		uring_files(ring, 0, files, n);
	return code;
}

WRAP_LATE(int, io_uring_register_files_tags, "liburing", unsupported, void *ring, const int *files,
	  const uint64_t *tags, unsigned n)
{
	int code = NEXT(io_uring_register_files_tags)(ring, files, tags, n);
	if (code >= 0)
		uring_files(ring, 0, files, n);
	return code;
}

WRAP_LATE(int, io_uring_register_files_update, "liburing", unsupported, void *ring, unsigned first, const int *files,
	  unsigned n)
{
	int done = NEXT(io_uring_register_files_update)(ring, first, files, n);
	if (done > 0)
		uring_files(ring, first, files, (unsigned)done);
	return done;
}

WRAP_LATE(int, io_uring_register_files_update_tag, "liburing", unsupported, void *ring, unsigned first,
	  const int *files, const uint64_t *tags, unsigned n)
{
	int done = NEXT(io_uring_register_files_update_tag)(ring, first, files, tags, n);
	if (done > 0)
		uring_files(ring, first, files, (unsigned)done);
	return done;
}

WRAP_LATE(int, io_uring_unregister_files, "liburing", unsupported, void *ring)
{
	int code = NEXT(io_uring_unregister_files)(ring);
	if (code >= 0)
		uring_files(ring, 0, NULL, 0);
	return code;
}

static void nothing(void)
{
}

WRAP_LATE(void, io_uring_queue_exit, "liburing", nothing, void *ring)
{
	struct async_call call = async_call_begin(STATE_ASYNC_IO_URING);
	async_call_returned(&call);
	uring_look(&call, ring);
	async_call_end(&call);
	uring_exit(ring);
	int fd = uring_descriptor(ring);
	NEXT(io_uring_queue_exit)(ring);
	posix_made(fd); /* the number may be another's by now */
}
