/*
 * Non-blocking accesses from their post to the Wait or Test call that completes them. A call marks those of
 * its requests that are ours; after it, a marked one whose handle has changed is complete.
 */
#include <sys/mman.h>

#include "arena.h"
#include "clock.h"
#include "mpi/mpi.h"
#include "self.h"
#include "state.h"
#include "sys.h"

enum { BUCKETS = 1024 };

struct mpiio_posted {
	uintptr_t request;
	struct mpiio_begun begun;
	struct mpiio_posted *next; /* in its bucket */
	struct mpiio_posted *next_marked;
	const void *at; /* where the waiting call holds the request */
	int64_t index;  /* of it there */
};

/* Written under the lock. The count is atomic: calls that wait ask it without. */
int mpiio_pending;
static struct mpiio_posted *bucket[BUCKETS];
static struct mpiio_posted *unused;
static struct lock lock;

static struct mpiio_posted **bucket_of(uintptr_t request)
{
	return &bucket[(request * 0x9e3779b97f4a7c15u) >> 54];
}

static struct mpiio_posted *take_unused(void)
{
	struct mpiio_posted *p = unused;
	if (!p)
		return arena_take(sizeof *p);
	unused = p->next;
	return p;
}

static uintptr_t load(const void *at)
{
	return mpi_backend() ? mpi_backend()->load(MPI_HANDLE_REQUEST, at) : 0;
}

void mpiio_request_add(const void *request, struct mpiio_begun begun)
{
	uintptr_t key = load(request);
	if (!key)
		return;
	if (!lock_take_deep(&lock))
		return;
	struct mpiio_posted *p = take_unused(), **b = bucket_of(key);
	if (p) {
		*p = (struct mpiio_posted){.request = key, .begun = begun, .next = *b};
		*b = p;
		__atomic_fetch_add(&mpiio_pending, 1, __ATOMIC_RELAXED);
	}
	lock_drop_deep(&lock);
}

/* The latest one of that handle: an older one was completed out of our sight. Inside the lock. */
static struct mpiio_posted *find(uintptr_t request)
{
	struct mpiio_posted *p = request ? *bucket_of(request) : NULL;
	while (p && p->request != request)
		p = p->next;
	return p;
}

/* Removes it, and older ones of its handle but those that another thread is just about to remove. Inside the lock. */
static void forget(struct mpiio_posted *newest)
{
	struct mpiio_posted **at = bucket_of(newest->request);
	uintptr_t request = newest->request;
	while (*at && *at != newest)
		at = &(*at)->next;
	while (*at) {
		struct mpiio_posted *p = *at;
		if (p->request != request || (p != newest && p->at)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		p->next = unused;
		unused = p;
		__atomic_fetch_sub(&mpiio_pending, 1, __ATOMIC_RELAXED);
	}
}

/* Inside the lock. */
static void mark(struct mpiio_wait *w, const char *at, int64_t index)
{
	struct mpiio_posted *p = find(load(at));
	if (!p || p->at)
		return;
	p->at = at;
	p->index = index;
	p->next_marked = w->marked;
	w->marked = p;
}

void mpiio_wait_look(struct mpiio_wait *w, const void *requests, int64_t count)
{
	if (!requests || !mpi_backend() || !self_ready())
		return;
	int64_t stride = (int64_t)mpi_backend()->handle_size(MPI_HANDLE_REQUEST);
	w->start = clock_now();
	self_enter();
	if (lock_take_deep(&lock)) {
		for (int64_t i = 0; i < count; i++)
			mark(w, (const char *)requests + i * stride, i);
		lock_drop_deep(&lock);
	}
	self_leave();
}

/* Which of several failed and what each of them moved, only their statuses tell. */
void *mpiio_wait_statuses(struct mpiio_wait *w, int64_t count, void *statuses)
{
	size_t size = (size_t)count * mpi_backend()->status_size();
	w->statuses = statuses;
	w->mapped = 0;
	if (!mpi_backend()->statuses_ignored(statuses))
		return statuses;
	bool small = size <= sizeof w->room;
	void *own = small ? w->room : sys_map(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!own)
		return statuses;
	mpi_backend()->statuses_prepare(own, count);
	w->mapped = small ? 0 : size;
	return w->statuses = own;
}

/* ---- completion ---- */

void mpiio_timeline(enum io_op op, double start, double end)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	state_timeline_add(&shard->timeline, op, start, end);
	self.outer++;
	self_shard_done();
}

void mpiio_complete(enum access_mode mode, const struct mpiio_begun *b, int64_t moved, double wait, double end)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	struct state_completion *c = &shard->completion[mode][b->op];
	bool failed = moved == MPI_MOVED_FAILED;
	c->count++;
	c->errors += failed;
	c->bytes += moved >= 0 ? moved : failed ? 0 : b->size;
	c->wait += wait;
	c->span += end - b->start;
	self_shard_done();
}

static int64_t status_of(const struct mpiio_posted *p, const struct mpiio_said *said)
{
	for (int i = 0; said->done && said->indices && i < *said->done && i < said->count; i++)
		if (said->indices[i] == p->index)
			return i;
	return said->one ? 0 : p->index;
}

/* Drops the marks of those that go on; the others stay in the list. Inside the lock. */
static int sort_out(struct mpiio_wait *w)
{
	int done = 0;
	for (struct mpiio_posted **at = &w->marked; *at;) {
		struct mpiio_posted *p = *at;
		if (load(p->at) == p->request) {
			p->at = NULL;
			*at = p->next_marked;
			continue;
		}
		at = &p->next_marked;
		done++;
	}
	return done;
}

static void take_back(struct mpiio_wait *w)
{
	if (w->mapped)
		sys_unmap(w->statuses, w->mapped);
}

/* Inside the lock. */
static void complete_marked(struct mpiio_wait *w, const struct mpiio_said *said, int done, double end)
{
	for (struct mpiio_posted *p = w->marked, *next; p; p = next) {
		next = p->next_marked;
		int64_t moved = mpi_backend()->status_moved(said->code, w->statuses, status_of(p, said));
		mpiio_complete(ACCESS_MODE_NONBLOCKING, &p->begun, moved, (end - w->start) / done, end);
		forget(p);
	}
}

bool mpiio_wait_seen(struct mpiio_wait *w, struct mpiio_said said)
{
	if (!self_ready()) {
		take_back(w);
		return false;
	}
	double end = clock_now();
	self_enter();
	int done = 0;
	enum io_op op = IO_READ;
	if (lock_take_deep(&lock)) {
		done = sort_out(w);
		op = done ? w->marked->begun.op : IO_READ;
		complete_marked(w, &said, done, end);
		lock_drop_deep(&lock);
	}
	take_back(w);
	if (done)
		mpiio_timeline(op, w->start, end);
	self_leave();
	return done;
}

void mpiio_request_freed(const void *request)
{
	if (!request || !mpi_backend() || !self_ready())
		return;
	self_enter();
	if (lock_take_deep(&lock)) {
		struct mpiio_posted *p = find(load(request));
		if (p)
			forget(p);
		lock_drop_deep(&lock);
	}
	self_leave();
}

void mpiio_requests_forget(void)
{
	for (int i = 0; i < BUCKETS; i++)
		bucket[i] = NULL;
	unused = NULL;
	mpiio_pending = 0;
}
