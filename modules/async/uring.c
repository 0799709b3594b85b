/* liburing's rings: its calls are looked at as they return. */
#include "arena.h"
#include "life.h"
#include "lock.h"
#include "self.h"
#include "uring_queue.h"

/* liburing's struct io_uring, as far as it is the same in all releases since 2.0. */
struct ring {
	struct {
		uint32_t *head, *tail, *mask, *entries, *flags, *dropped, *array;
		struct uring_request *requests;
		uint32_t first, last;
		size_t size;
		void *at;
		uint32_t pad[4];
	} sq;
	struct {
		uint32_t *head, *tail, *mask, *entries, *flags, *overflow;
		struct uring_completion *completions;
		size_t size;
		void *at;
		uint32_t pad[4];
	} cq;
	uint32_t flags;
	int fd;
};

struct watched {
	const void *ring;
	const void *requests; /* another ring may come to lie where one was */
	struct uring_seen seen;
	struct uring_files files;
	struct watched *next;
};

/* The list is changed under the lock; the files of a ring by the one thread that uses it. */
static struct lock lock;
static struct watched *watched;

static struct watched *find(const struct ring *r)
{
	struct watched *w = watched;
	while (w && __atomic_load_n(&w->ring, __ATOMIC_ACQUIRE) != r)
		w = w->next;
	return w;
}

/* Inside the lock. */
static struct watched *watch(const struct ring *r)
{
	struct watched *w = find(r);
	if (w && w->requests == r->sq.requests)
		return w;
	if (!w)
		w = find(NULL); /* of one that is gone */
	if (!w && (w = arena_take(sizeof *w))) {
		w->next = watched;
		watched = w;
	}
	if (w) {
		w->ring = r;
		w->requests = r->sq.requests;
		w->seen = (struct uring_seen){0, 0};
	}
	return w;
}

/* liburing fills its places in order: the array says nothing else. */
static struct uring_queues queues_of(const struct ring *r)
{
	return (struct uring_queues){.owner = (uintptr_t)r,
				     .request_mask = *r->sq.mask,
				     .completion_mask = *r->cq.mask,
				     .flags = r->flags,
				     .requests = r->sq.requests,
				     .completions = r->cq.completions};
}

void uring_submitting(struct async_call *c, const void *ring)
{
	const struct ring *r = ring;
	if (!(c->start > 0) || !r->sq.requests || !self_enter_locked(&lock))
		return;
	struct watched *w = watch(r);
	uint32_t from = w ? w->seen.requests : 0, to = uring_further(from, r->sq.last);
	if (w)
		w->seen.requests = to;
	self_leave_locked(&lock);
	if (!w)
		return;
	struct uring_queues q = queues_of(r);
	uring_look_ahead(c, &q, &w->files, from, to);
}

void uring_look(struct async_call *c, const void *ring)
{
	const struct ring *r = ring;
	if (!(c->start > 0) || !r->sq.requests || !self_enter_locked(&lock))
		return;
	struct uring_seen was = {0, 0}, now = {__atomic_load_n(r->sq.head, __ATOMIC_ACQUIRE),
					       __atomic_load_n(r->cq.tail, __ATOMIC_ACQUIRE)};
	struct watched *w = watch(r);
	if (w) {
		was = w->seen;
		w->seen = (struct uring_seen){uring_further(was.requests, now.requests), now.completions};
	}
	self_leave_locked(&lock);
	if (!w)
		return;
	struct uring_queues q = queues_of(r);
	uring_look_new(c, &q, &w->files, was, now);
}

void uring_files(const void *ring, unsigned first, const int *fds, unsigned n)
{
	if (!((const struct ring *)ring)->sq.requests || !self_enter_locked(&lock))
		return;
	struct watched *w = watch(ring);
	self_leave_locked(&lock);
	if (w && fds)
		uring_set_files(&w->files, first, fds, n);
	else if (w)
		uring_drop_files(&w->files);
}

void uring_exit(const void *ring)
{
	async_settle((uintptr_t)ring);
	if (!self_enter_locked(&lock))
		return;
	struct watched *w = find(ring);
	self_leave_locked(&lock);
	if (!w)
		return;
	uring_drop_files(&w->files);
	w->requests = NULL;
	__atomic_store_n(&w->ring, NULL, __ATOMIC_RELEASE); /* last: from now on it is any thread's to take */
}

int uring_descriptor(const void *ring)
{
	return ((const struct ring *)ring)->fd;
}

/* In a forked child: rings are its parent's. */
static void forget(void)
{
	watched = NULL;
}

LIFE_MODULE(async_liburing, .fork_restore = forget);
