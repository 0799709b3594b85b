/*
 * Asynchronous I/O: remembered at submission, recorded when the program learns that it is done: by aio_return, aio_error,
 * aio_suspend, lio_listio; by a new submission of the control block, or at the end of the process. Until then the open file
 * description is kept, whose descriptor may be closed.
 */
#include <aio.h>
#include <errno.h>

#include "arena.h"
#include "thread.h"
#include "readable.h"
#include "record.h"
#include "state.h"

struct pending {
	const struct aiocb *control;
	struct aiocb as_submitted;
	struct span span;
	enum io_op op;
	struct pending *next;
};

enum { BUCKETS = 256 };

/* Lists under the lock; their number is atomic, and read before it is taken. */
static struct lock lock;
static struct pending *bucket[BUCKETS], *unused;
static int under_way AT_START;

static struct pending **bucket_of(const struct aiocb *control)
{
	return &bucket[(uintptr_t)control * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

static struct pending *take_unused(void)
{
	struct pending *p = unused;
	if (!p)
		return arena_take(sizeof *p);
	unused = p->next;
	return p;
}

static void remember(const struct aiocb *control, struct span s, enum io_op op)
{
	if (!lock_take_deep(&lock))
		return;
	struct pending *p = take_unused(), **at = bucket_of(control);
	if (p) {
		*p = (struct pending){control, *control, s, op, *at};
		*at = p;
		p->span.at = posix_open_hold(s.at, s.fd);
		__atomic_fetch_add(&under_way, 1, __ATOMIC_RELAXED);
	}
	lock_drop_deep(&lock);
}

static bool fetch(const struct aiocb *control, struct pending *out)
{
	bool found = false;
	if (!lock_take_deep(&lock))
		return false;
	for (struct pending **at = bucket_of(control); *at && !found; at = found ? at : &(*at)->next) {
		struct pending *p = *at;
		if (p->control != control)
			continue;
		*out = *p;
		*at = p->next;
		p->next = unused;
		unused = p;
		__atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
		found = true;
	}
	lock_drop_deep(&lock);
	return found;
}

static void count(const struct pending *p, int64_t got, double after)
{
	self_enter();
	struct state_shard *shard = self_shard();
	if (shard) {
		struct state_requests *n = &shard->requests[STATE_ASYNC_POSIX_AIO][p->op];
		state_requests_add(n, 1, got, after);
		n->recorded += span_tracked(p->span) && got > 0 ? got : 0;
		self_shard_done();
	}
	self_leave();
}

static void record(struct pending *p, int64_t got, double end)
{
	const struct aiocb *a = &p->as_submitted;
	count(p, got, p->span.start > 0 && end > p->span.start ? end - p->span.start : -1);
	if (fds_peek(p->span.fd) != p->span.at)
		p->span.fd = -1; /* closed, or another file's by now */
	if (!span_tracked(p->span)) {
		if (p->span.at)
			fds_count((enum state_class_id)p->span.at, p->op, got);
		return;
	}
	if (got >= 0)
		posix_access_until(p->span, p->op, (const void *)a->aio_buf, a->aio_offset, got, end);
	self_enter();
	posix_open_release(p->span.at);
	self_leave();
}

/* The same operation still, and done: -1 while it is not. */
static int64_t moved_by(const struct pending *p)
{
	const struct aiocb *now = p->control, *then = &p->as_submitted;
	bool same = now->aio_fildes == then->aio_fildes && now->aio_buf == then->aio_buf &&
		    now->aio_nbytes == then->aio_nbytes && now->aio_offset == then->aio_offset;
	if (!same || __atomic_load_n(&now->__error_code, __ATOMIC_ACQUIRE) != 0)
		return -1;
	int64_t got = now->__return_value;
	return got >= 0 && (size_t)got <= now->aio_nbytes ? got : -1;
}

static bool take(const struct aiocb *control, struct pending *out)
{
	if (!__atomic_load_n(&under_way, __ATOMIC_RELAXED) || !self_ready())
		return false;
	self_enter();
	bool found = fetch(control, out);
	self_leave();
	return found;
}

/* Done long ago: how long it took is not known. A block that was prepared anew says 0, too. */
static void settle(const struct aiocb *control)
{
	struct pending p;
	if (!take(control, &p))
		return;
	int64_t got = moved_by(&p);
	record(&p, got > 0 ? got : -1, p.span.start);
}

void posix_aio_submit(const struct aiocb *control, enum io_op op)
{
	if (!self_ready() || !readable(control, sizeof *control))
		return;
	settle(control);
	struct span s = span_fd(control->aio_fildes);
	if (!s.at)
		return;
	self_enter();
	remember(control, s, op);
	self_leave();
}

void posix_aio_returned(const struct aiocb *control, int64_t got)
{
	struct pending p;
	if (take(control, &p))
		record(&p, got, clock_now());
}

void posix_aio_done(const struct aiocb *control)
{
	struct pending p;
	if (take(control, &p))
		record(&p, moved_by(&p), clock_now());
}

void posix_aio_end(void)
{
	for (int i = 0; under_way && i < BUCKETS; i++)
		for (struct pending *p = bucket[i], *next; p; p = next) {
			next = p->next;
			if (readable(p->control, sizeof *p->control) && moved_by(p) >= 0)
				settle(p->control);
		}
}

void posix_aio_forget(void)
{
	for (int i = 0; i < BUCKETS; i++)
		bucket[i] = NULL;
	unused = NULL;
	under_way = 0;
}
