#include "request.h"

#include <string.h>

#include "../posix/record.h"
#include "../posix/state.h"
#include "arena.h"
#include "thread.h"
#include "life.h"
#include "lock.h"
#include "self.h"

enum { QUEUES = 1024, FLIGHTS = 1 << 16, ALIKE = 256 };
enum { NO_BYTES = ASYNC_FLUSH | ASYNC_OPEN | ASYNC_MAKE };

struct flight {
	struct async_request request;
	struct flight *next;
};

/* Of those with one key the first comes first: many requests may have the same, and each goes to the end. */
struct queue {
	struct flight *first, **end;
};

/* All of it is written under the lock. What is read without it is atomic: whether there are queues, how many are in flight, the last one. */
static struct lock lock;
static struct queue *queues AT_START; /* by owner and key */
static struct flight *unused;
static int in_flight;
static uint8_t last_op; /* of the request that was submitted last */

/* ---- counts ---- */

static const enum state_operation_id operations[STATE_ASYNC_COUNT][2] = {
	[STATE_ASYNC_LIBAIO] = {STATE_OP_LIBAIO_READ, STATE_OP_LIBAIO_WRITE},
	[STATE_ASYNC_IO_URING] = {STATE_OP_IO_URING_READ, STATE_OP_IO_URING_WRITE},
};

/* `times` requests alike, of `bytes` each, or failed; `after` seconds from submission, below 0 = not known. */
static void add_results(const struct async_request *r, int op, int64_t times, int64_t bytes, double after)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	struct state_requests *n = &shard->requests[r->interface][op];
	struct state_operation *o = &shard->operation[operations[r->interface][op]];
	int64_t moved = bytes > 0 ? times * bytes : 0, failed = bytes < 0 ? times : 0;
	state_requests_add(n, times, bytes, after);
	n->recorded += span_tracked(r->span) && r->op != IO_META ? moved : 0;
	n->estimated += r->flags & ASYNC_ESTIMATED ? moved : 0;
	n->fixed_files += r->flags & ASYNC_FIXED_FILE ? times : 0;
	n->fixed_buffers += r->flags & ASYNC_FIXED_BUFFER ? times : 0;
	o->count += times;
	o->errors += failed;
	o->bytes += moved;
	self_shard_done();
}

/* What is copied from descriptor to descriptor is read and written. */
static void count(const struct async_request *r, int64_t times, int64_t bytes, double after)
{
	self_enter();
	for (int op = 0; op < 2; op++)
		if (r->op == op || r->op == IO_META)
			add_results(r, op, times, bytes, after);
	self_leave();
}

/* ---- requests in flight ---- */

static struct queue *queue_of(uintptr_t owner, uint64_t key)
{
	return &queues[((key ^ owner * UINT64_C(0xd6e8feb86659fd93)) * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

static struct flight *flight_take(void)
{
	struct flight *f = unused;
	if (!queues)
		__atomic_store_n(&queues, arena_take(QUEUES * sizeof *queues), __ATOMIC_RELEASE);
	if (!queues || in_flight >= FLIGHTS)
		return NULL;
	if (f)
		unused = f->next;
	f = f ? f : arena_take(sizeof *f);
	in_flight += f != NULL;
	return f;
}

static void flight_add(struct queue *q, struct flight *f)
{
	struct flight **at = q->first ? q->end : &q->first;
	q->end = &f->next;
	*at = f;
}

static void flight_drop(struct queue *q, struct flight **at)
{
	struct flight *f = *at;
	*at = f->next;
	if (!f->next)
		q->end = at;
	f->next = unused;
	unused = f;
	in_flight--;
}

static bool remember(const struct async_request *r)
{
	if (!self_enter_locked(&lock))
		return true; /* nothing is counted now */
	struct flight *f = flight_take();
	if (f) {
		*f = (struct flight){*r, NULL};
		f->request.span.at = posix_open_hold(r->span.at, r->span.fd);
		flight_add(queue_of(r->owner, r->key), f);
		__atomic_store_n(&last_op, (uint8_t)r->op, __ATOMIC_RELAXED);
	}
	self_leave_locked(&lock);
	return f;
}

/*
 * The request that a result is of. If several have one key: the first for exactly as many bytes; otherwise the first for
 * more, or for an unknown number; otherwise the first. Inside the lock.
 */
static struct flight **match(uintptr_t owner, uint64_t key, int64_t result)
{
	struct flight **first = NULL, **fits = NULL;
	int looked_at = 0;
	for (struct flight **at = &queue_of(owner, key)->first; *at && looked_at < ALIKE; at = &(*at)->next) {
		const struct async_request *r = &(*at)->request;
		if (r->key != key || r->owner != owner)
			continue;
		looked_at++;
		first = first ? first : at;
		if (result >= 0 && r->bytes == result)
			return at;
		if (!fits && (!r->bytes || result <= r->bytes))
			fits = at;
	}
	return fits ? fits : first;
}

/* `keep`: more results of it are to come. */
static bool recall(uintptr_t owner, uint64_t key, int64_t result, bool keep, struct async_request *out)
{
	if (!__atomic_load_n(&queues, __ATOMIC_RELAXED) || !self_enter_locked(&lock))
		return false;
	struct flight **at = match(owner, key, result);
	if (at)
		*out = (*at)->request;
	if (at && !keep)
		flight_drop(queue_of(owner, key), at);
	self_leave_locked(&lock);
	return at;
}

static void release(const struct async_request *r)
{
	self_enter();
	posix_open_release(r->span.at);
	self_leave();
}

/* ---- calls ---- */

struct async_call async_call_begin(enum state_async_id interface)
{
	return (struct async_call){.interface = interface, .start = self_ready() && !self.inside ? clock_now() : 0};
}

void async_call_returned(struct async_call *c)
{
	c->end = c->start > 0 ? clock_now() : 0;
}

static void add_file(struct async_call *c, const struct async_request *r)
{
	int i = 0;
	if (!span_tracked(r->span) || r->op == IO_META)
		return;
	while (i < c->files && (c->file[i].at != r->span.at || c->file[i].op != r->op))
		i++;
	if (i == c->files && i < ASYNC_CALL_FILES) {
		c->file[i].at = r->span.at;
		c->file[i].op = r->op;
		c->files++;
	}
}

static int batch_class(int64_t n)
{
	return n <= 1 ? 0 : n <= 4 ? 1 : n <= 16 ? 2 : n <= 64 ? 3 : 4;
}

static void add_batch(struct state_batches *b, int64_t n)
{
	b->calls++;
	b->requests += n;
	b->largest = n > b->largest ? n : b->largest;
	b->size[batch_class(n)]++;
}

/* The time of the call is shared by its requests; a call that only waited is of the kind that was submitted last. */
static void add_call(struct state_shard *shard, const struct async_call *c)
{
	int64_t all = c->requests[IO_READ] + c->requests[IO_WRITE];
	double spent = c->end - c->start;
	bool waited = !all && !c->flushed && __atomic_load_n(&in_flight, __ATOMIC_RELAXED) > 0;
	int op = waited                                         ? __atomic_load_n(&last_op, __ATOMIC_RELAXED)
		 : c->requests[IO_WRITE] > c->requests[IO_READ] ? IO_WRITE
								: IO_READ;
	if (c->submitted > 0)
		add_batch(&shard->batches[c->interface], c->submitted);
	for (int k = 0; k < 2; k++) {
		double part = all ? (double)c->requests[k] / (double)all : waited && op == k ? 1 : 0;
		shard->requests[c->interface][k].wait += spent * part;
		shard->operation[operations[c->interface][k]].time += spent * part;
	}
	if (all || waited)
		state_timeline_add(&shard->timeline, (enum io_op)op, c->start, c->end);
}

void async_call_end(struct async_call *c)
{
	if (!(c->start > 0) || !self_ready())
		return;
	self_enter();
	struct state_shard *shard = self_shard();
	if (shard) {
		add_call(shard, c);
		self_shard_done();
	}
	self_leave();
	for (int i = 0; i < c->files; i++)
		posix_on_submit((struct span){.at = c->file[i].at, .start = c->start, .fd = -1},
				(enum io_op)c->file[i].op, c->end);
}

void async_submitted(struct async_call *c, const struct async_request *r)
{
	if (!(c->start > 0))
		return;
	c->submitted++;
	add_file(c, r);
	if (r->op != IO_META)
		c->requests[r->op]++;
	if (!remember(r) && !(r->flags & NO_BYTES))
		count(r, 1, r->bytes, -1);
}

void async_refused(struct async_call *c, uintptr_t owner, uint64_t key)
{
	struct async_request was;
	if (!recall(owner, key, -1, false, &was))
		return;
	c->submitted--;
	if (was.op != IO_META)
		c->requests[was.op]--;
	release(&was);
}

/* What it did to its file. */
static void record(const struct async_call *c, struct async_request *r, int64_t result)
{
	struct span s = {.at = r->span.at, .start = c->start, .fd = r->span.fd};
	if (!span_tracked(s) || result < 0)
		return;
	if (fds_peek(s.fd) != s.at)
		s.fd = -1; /* closed, or another file's by now */
	if (r->flags & ASYNC_FLUSH)
		posix_on_sync(s, r->flags & ASYNC_DATA_ONLY, 0);
	else if (r->op != IO_META)
		posix_on_request(s, (enum io_op)r->op, r->buffer, r->flags & ASYNC_APPEND ? AT_END : r->offset, result,
				 r->span.start, c->end);
}

/* The number may have been another's that was closed unseen. */
static void made(const struct async_request *r, int64_t fd)
{
	if (r->flags & ASYNC_OPEN)
		posix_on_open_unnamed((struct span){.at = 1, .start = r->span.start, .fd = -1}, (int)fd);
	else if (fd >= 0)
		posix_made((int)fd);
}

void async_completed(struct async_call *c, uintptr_t owner, uint64_t key, int64_t result, bool more)
{
	struct async_request r;
	if (!(c->start > 0) || !recall(owner, key, result, more, &r))
		return;
	if (r.flags & (ASYNC_OPEN | ASYNC_MAKE)) {
		made(&r, result);
		return;
	}
	record(c, &r, result);
	if (r.flags & ASYNC_FLUSH)
		c->flushed = true;
	else
		count(&r, 1, result, c->end - r.span.start);
	if (r.op != IO_META)
		c->requests[r.op]++;
	if (!more)
		release(&r);
}

void async_sampled(const struct async_request *r, int64_t times)
{
	if (times <= 0 || !self_ready())
		return;
	if (span_tracked(r->span) && r->op != IO_META && r->bytes > 0)
		posix_on_sampled(r->span, (enum io_op)r->op, r->offset, r->bytes, times);
	if (!(r->flags & NO_BYTES))
		count(r, times, r->bytes, -1);
}

/* One that is in flight, of this owner or of any, from queue `k` on; false: there is none. */
static bool take_any(uintptr_t owner, int *k, struct async_request *out)
{
	bool found = false;
	if (!__atomic_load_n(&queues, __ATOMIC_RELAXED) || !self_enter_locked(&lock))
		return false;
	for (; *k < QUEUES && in_flight && !found; *k += !found) {
		struct flight **at = &queues[*k].first;
		while (*at && owner && (*at)->request.owner != owner)
			at = &(*at)->next;
		if (*at) {
			*out = (*at)->request;
			flight_drop(&queues[*k], at);
			found = true;
		}
	}
	self_leave_locked(&lock);
	return found;
}

void async_settle(uintptr_t owner)
{
	struct async_request r;
	int k = 0;
	while (take_any(owner, &k, &r)) {
		async_sampled(&r, 1);
		release(&r);
	}
}

/* In a forked child: requests are its parent's. */
static void forget(void)
{
	queues = NULL;
	unused = NULL;
	in_flight = 0;
}

static void settle_all(void)
{
	async_settle(0);
}

LIFE_MODULE(async_requests, .fork_restore = forget, .end = settle_all);
