/*
 * Rings that a program drives itself. One that is made and entered by syscall() is looked at whenever it is entered, as
 * liburing's are. One that is driven by instructions of the program's own leaves in its memory how many requests there were,
 * and the last of them: these stand for all.
 */
#include "own_ring.h"

#include <string.h>
#include <sys/uio.h>

#include "../posix/watcher.h"
#include "arena.h"
#include "thread.h"
#include "life.h"
#include "lock.h"
#include "self.h"
#include "store.h"
#include "sys.h"
#include "uring_queue.h"

enum { RINGS = 256, PIECE = 64 };

/* Offsets of the mappings, and a feature: both queues lie in one. */
enum { MAP_QUEUES = 0, MAP_COMPLETIONS = 0x8000000, MAP_REQUESTS = 0x10000000, MAP_SINGLE = 1 << 0 };

/* The kernel's struct io_uring_params: where everything lies. */
struct parameters {
	uint32_t requests, completions, flags, cpu, idle, features, workers, reserved[3];
	struct {
		uint32_t head, tail, mask, entries, flags, dropped, array, reserved;
		uint64_t at;
	} sq;
	struct {
		uint32_t head, tail, mask, entries, overflow, completions, flags, reserved;
		uint64_t at;
	} cq;
};

struct range {
	uintptr_t from, to;
};

/*
 * `own` and `rings` are written under the lock, and `rings` last: it is atomic, and what is before it is read without the lock. A
 * ring is changed under the lock too, but for what it was unmapped from and its files: one thread alone changes those.
 */
static struct own_ring {
	int fd;
	bool described; /* by its parameters: it was made by syscall() */
	bool entered;   /* by syscall(), too: nothing of it is lost */
	struct parameters is;
	struct range queues, completions, requests;
	struct uring_seen seen;
	struct uring_files files;
	uint32_t counted; /* requests; atomic: several threads may count them, each what is new */
} * own;                  /* RINGS of them, from the first ring on */

static struct lock lock;   /* guards both, see `own` */
static int rings AT_START; /* atomic */

/* ---- which rings there are ---- */

static bool is_ring(int fd)
{
	static const char name[] = "anon_inode:[io_uring]";
	char link[32] = "/proc/self/fd/", text[sizeof name];
	sys_decimal(link + strlen(link), (unsigned)fd);
	return sys_readlink(link, text, sizeof text) == sizeof name - 1 && memcmp(text, name, sizeof name - 1) == 0;
}

static struct own_ring *find(int fd)
{
	int i = 0, n = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);
	while (i < n && own[i].fd != fd)
		i++;
	return i < n ? &own[i] : NULL;
}

static void count_driven(void);

/* A ring that is new, in the place of one that had its descriptor. Inside the lock. */
static struct own_ring *renew(int fd)
{
	struct own_ring *o = find(fd);
	if (!own)
		own = arena_take(RINGS * sizeof *own);
	if (!own || (!o && rings == RINGS))
		return NULL;
	o = o ? o : &own[rings];
	o->fd = fd;
	o->described = o->entered = false;
	o->is = (struct parameters){0};
	o->queues = o->completions = o->requests = (struct range){0, 0};
	o->seen = (struct uring_seen){0, 0};
	o->counted = 0;
	if (o == &own[rings])
		__atomic_store_n(&rings, rings + 1, __ATOMIC_RELEASE);
	return o;
}

static struct range *range_of(struct own_ring *o, int64_t from)
{
	return from == MAP_QUEUES ? &o->queues : from == MAP_COMPLETIONS ? &o->completions : &o->requests;
}

static void on_map(int fd, const void *at, size_t n, int64_t from)
{
	if ((from != MAP_QUEUES && from != MAP_COMPLETIONS && from != MAP_REQUESTS) || self.inside || !is_ring(fd) ||
	    !self_enter_locked(&lock))
		return;
	struct own_ring *o = find(fd);
	if (!o || range_of(o, from)->from)
		o = renew(fd);
	if (o)
		*range_of(o, from) = (struct range){(uintptr_t)at, (uintptr_t)at + n};
	if (from == MAP_QUEUES) {
		store_state()->process.own_rings++;
		posix_watcher.closing = count_driven;
	}
	self_leave_locked(&lock);
}

void uring_set_up(int fd, const void *parameters)
{
	struct own_ring *o = NULL;
	if (self.inside || !self_enter_locked(&lock))
		return;
	if ((o = renew(fd))) {
		memcpy(&o->is, parameters, sizeof o->is);
		o->described = true;
	}
	self_leave_locked(&lock);
}

/* ---- entered by syscall() ---- */

static const uint32_t *word(uintptr_t from, uint32_t offset)
{
	return (const uint32_t *)(from + offset);
}

static bool within(struct range r, uint64_t n)
{
	return r.from && n <= r.to - r.from;
}

/* False while something of it is not mapped. */
static bool queues_of(const struct own_ring *o, struct uring_queues *q, struct uring_seen *now)
{
	const struct parameters *p = &o->is;
	struct range c = p->features & MAP_SINGLE ? o->queues : o->completions;
	if (!o->described || !within(o->queues, p->sq.array + 4ul * p->requests) ||
	    !within(o->queues, p->sq.head + 4ul) || !within(o->queues, p->sq.tail + 4ul) ||
	    !within(c, p->cq.tail + 4ul) || !within(c, p->cq.completions + sizeof *q->completions * p->completions) ||
	    !within(o->requests, sizeof *q->requests * p->requests))
		return false;
	*q = (struct uring_queues){
		.owner = (uintptr_t)o,
		.array = p->flags & URING_NO_ARRAY ? NULL : word(o->queues.from, p->sq.array),
		.request_mask = p->requests - 1,
		.completion_mask = p->completions - 1,
		.flags = p->flags,
		.requests = (const struct uring_request *)o->requests.from,
		.completions = (const struct uring_completion *)(c.from + p->cq.completions),
	};
	now->requests = __atomic_load_n(word(o->queues.from, p->sq.head), __ATOMIC_ACQUIRE);
	now->completions = __atomic_load_n(word(c.from, p->cq.tail), __ATOMIC_ACQUIRE);
	return true;
}

/* What the kernel is about to take. Inside the lock. */
static uint32_t end_of_requests(const struct own_ring *o, uint32_t head, uint32_t submit)
{
	enum { KERNEL_THREAD = 1 << 1 }; /* takes all, whatever is submitted */
	uint32_t waiting = __atomic_load_n(word(o->queues.from, o->is.sq.tail), __ATOMIC_ACQUIRE) - head;
	bool all = o->is.flags & KERNEL_THREAD || waiting < submit;
	return head + (all ? waiting : submit);
}

void uring_entering(struct async_call *c, int fd, unsigned submit)
{
	struct uring_queues q;
	struct uring_seen now;
	uint32_t from = 0, to = 0;
	if (!(c->start > 0) || !self_enter_locked(&lock))
		return;
	struct own_ring *o = find(fd);
	if (o && queues_of(o, &q, &now)) {
		from = o->seen.requests;
		to = o->seen.requests = uring_further(from, end_of_requests(o, now.requests, submit));
	}
	self_leave_locked(&lock);
	if (from != to)
		uring_look_ahead(c, &q, &o->files, from, to);
}

void uring_entered(struct async_call *c, int fd)
{
	struct uring_queues q;
	struct uring_seen was, now;
	if (!(c->start > 0) || !self_enter_locked(&lock))
		return;
	struct own_ring *o = find(fd);
	bool mapped = o && queues_of(o, &q, &now);
	if (mapped) {
		was = o->seen;
		o->seen = (struct uring_seen){uring_further(was.requests, now.requests), now.completions};
		__atomic_store_n(&o->counted, now.requests, __ATOMIC_RELAXED);
		store_state()->process.own_rings -= !o->entered;
		o->entered = true;
	}
	self_leave_locked(&lock);
	if (mapped)
		uring_look_new(c, &q, &o->files, was, now);
}

/* What io_uring_register is given for files: the descriptors, or where they stand. */
struct update {
	uint32_t first, reserved;
	uint64_t fds, tags;
	uint32_t n, reserved_too;
};

struct registration {
	uint32_t n, flags;
	uint64_t reserved, fds, tags;
};

enum { REGISTER = 2, UNREGISTER = 3, UPDATE = 6, REGISTER_TAGGED = 13, UPDATE_TAGGED = 14 };

void uring_registered(int fd, unsigned operation, const void *argument, unsigned n)
{
	const struct update *u = argument;
	const struct registration *r = argument;
	struct own_ring *o = find(fd);
	if (!o || !self_ready())
		return;
	if (operation == REGISTER)
		uring_set_files(&o->files, 0, argument, n);
	else if (operation == REGISTER_TAGGED && r->fds)
		uring_set_files(&o->files, 0, (const int *)r->fds, r->n);
	else if (operation == UPDATE)
		uring_set_files(&o->files, u->first, (const int *)u->fds, n);
	else if (operation == UPDATE_TAGGED)
		uring_set_files(&o->files, u->first, (const int *)u->fds, u->n);
	else if (operation == UNREGISTER)
		uring_drop_files(&o->files);
}

/* ---- driven by the program's own instructions ---- */

/*
 * Where a ring has its numbers, in words: the head of its requests, and four that go together (masks and numbers of
 * requests and completions). Kernels for one processor do not spread them over cache lines.
 */
static const int sizes_at[] = {64, 4};

/* The program may have unmapped it in a way of its own. */
static bool copy_in(void *to, uintptr_t from, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)from, n};
	return sys_call(SYS_process_vm_readv, sys_pid(), (long)&local, 1, (long)&remote, 1, 0) == (long)n;
}

/* The number of its requests so far, and of the places for them; false when this is no ring after all. */
static bool read_numbers(const struct own_ring *o, uint32_t *requests, uint32_t *places)
{
	uint32_t words[68];
	if (!o->queues.from || !o->requests.from || !copy_in(words, o->queues.from, sizeof words))
		return false;
	*requests = words[0];
	for (size_t i = 0; i < sizeof sizes_at / sizeof *sizes_at; i++) {
		const uint32_t *mask = words + sizes_at[i], *entries = mask + 2;
		*places = entries[0];
		if (entries[0] && entries[1] && mask[0] == entries[0] - 1 && mask[1] == entries[1] - 1)
			return true;
	}
	return false;
}

static int64_t vector_bytes(const struct uring_request *q)
{
	struct iovec v[PIECE];
	int64_t bytes = 0;
	if (q->length > PIECE || !copy_in(v, q->address, q->length * sizeof *v))
		return 0;
	for (uint32_t i = 0; i < q->length; i++)
		bytes += (int64_t)v[i].iov_len;
	return bytes;
}

/* The last requests of a ring stand for `all` since the last count. */
struct sample {
	const struct own_ring *ring;
	uint32_t places;
	int64_t all;
	int64_t used; /* places that ever had a request */
	int64_t at;   /* the number of the one that is looked at */
};

static void each(struct sample *s, void (*use)(struct sample *, const struct uring_request *))
{
	struct uring_request piece[PIECE];
	static const struct uring_request never;
	for (uint32_t i = 0; i < s->places; i += PIECE) {
		uint32_t part = s->places - i < PIECE ? s->places - i : PIECE;
		uintptr_t from = s->ring->requests.from + i * sizeof *piece;
		if (from + part * sizeof *piece > s->ring->requests.to || !copy_in(piece, from, part * sizeof *piece))
			break;
		for (uint32_t k = 0; k < part; k++)
			if (memcmp(&piece[k], &never, sizeof never) != 0)
				use(s, &piece[k]);
	}
}

static void count_place(struct sample *s, const struct uring_request *q)
{
	s->used++;
}

/* Its part of all requests: the parts of all places add up to them. */
static void count_part(struct sample *s, const struct uring_request *q)
{
	struct async_request r = {.owner = 0};
	int64_t part = s->all * (s->at + 1) / s->used - s->all * s->at / s->used;
	s->at++;
	if (!uring_describe(q, &s->ring->files, &r))
		return;
	if (!r.buffer && r.op != IO_META)
		r.bytes = vector_bytes(q);
	r.flags |= ASYNC_ESTIMATED;
	async_sampled(&r, part);
}

static void count_ring(struct own_ring *o)
{
	struct sample s = {.ring = o};
	uint32_t requests, counted = __atomic_load_n(&o->counted, __ATOMIC_RELAXED);
	if (!read_numbers(o, &requests, &s.places))
		return;
	do
		if (uring_further(counted, requests) == counted)
			return;
	while (!__atomic_compare_exchange_n(&o->counted, &counted, requests, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	s.all = requests - counted;
	each(&s, count_place);
	if (s.used)
		each(&s, count_part);
}

/* Requests of rings that no other source reports count for their files while these are open. */
static void count_driven(void)
{
	for (int i = 0; i < __atomic_load_n(&rings, __ATOMIC_ACQUIRE); i++)
		if (!own[i].entered)
			count_ring(&own[i]);
}

static void count_rings(void)
{
	for (int i = 0; i < __atomic_load_n(&rings, __ATOMIC_ACQUIRE); i++)
		count_ring(&own[i]);
}

static void on_unmap(uintptr_t from, uintptr_t to)
{
	for (int i = 0; i < __atomic_load_n(&rings, __ATOMIC_ACQUIRE); i++) {
		struct own_ring *o = &own[i];
		bool queues = o->queues.from < to && from < o->queues.to;
		if (!queues && !(o->requests.from < to && from < o->requests.to))
			continue;
		count_ring(o);
		async_settle((uintptr_t)o);
		o->queues.from = o->requests.from = 0;
	}
}

/* In a forked child: rings are its parent's. */
static void forget(void)
{
	rings = 0;
	if (own)
		memset(own, 0, RINGS * sizeof *own);
}

__attribute__((constructor)) static void watch(void)
{
	posix_watcher.mapped = on_map;
	posix_watcher.unmapping = on_unmap;
}

LIFE_MODULE(async_rings, .fork_restore = forget, .end = count_rings);
