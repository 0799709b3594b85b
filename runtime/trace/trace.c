#include "trace.h"

#include <string.h>

#include "arena.h"
#include "config.h"
#include "self.h"
#include "store.h"

/*
 * A file's trace by one interface, guarded by the file's lock. There is no `limit` while an item is written: after a jump out of
 * that, what is known of the last access may be half of it, and a new chunk begins.
 *
 * Where the newest accesses are kept, any file may take the chunk of any other: then there is never a limit, which the short
 * way would look at, but a ring_limit, and a lock for all files.
 */
struct trace {
	uint8_t *at;    /* of the next item */
	uint8_t *limit; /* one that begins here at the latest fits; NULL = none */
	uint8_t *ring_limit;
	struct trace_chunk *chunk;
	struct trace_pattern pattern[2]; /* by enum io_op */
	int64_t ended;                   /* ticks: when the last access did */
	struct state_shard *shard;       /* of the thread of the last access */
	uint32_t chunks;
	uint32_t next_size;
	bool off;  /* the file is not to be traced, */
	bool full; /* or there is no more room */
};

enum { RING_CHUNK = 1024 };

static int64_t ticks(double seconds)
{
	return (int64_t)(seconds * TRACE_RATE);
}

static uint16_t thread_number(void)
{
	return (uint16_t)(self.shard - store_state()->shard);
}

/* What all files beyond the budget share has no offsets. */
static bool is_traced(const struct file *f, enum trace_interface interface)
{
	int module = written_traces[interface].module;
	return config_traced(module) && !names_is_overflow(f->name) &&
	       !filter_leaves_out(&config.name, module, f->name->text);
}

static struct trace *begin(struct file *f, enum trace_interface interface)
{
	struct trace *t = f->trace = arena_take(sizeof *t);
	if (t) {
		t->off = !is_traced(f, interface);
		t->next_size = config.trace_newest ? RING_CHUNK : TRACE_LEAST;
		t->at = (uint8_t *)t; /* beyond the limit */
	}
	return t;
}

static void drop(enum trace_interface interface)
{
	__atomic_fetch_add(&store_state()->trace.dropped[interface], 1, __ATOMIC_RELAXED);
}

/* Guards the traces of all files where only the newest accesses are kept: a file's next chunk may be another's oldest. */
static struct lock ring;

/* The first chunks of a file are small, for jobs that have many. In a ring all are alike, so that one fits where one was. */
static struct trace_chunk *take_chunk(struct trace *t, enum trace_interface interface)
{
	struct trace_chunk *c = store_trace(t->next_size);
	if (!c && config.trace_newest) {
		drop(interface);
		return store_trace_again(t->next_size);
	}
	if (!c && t->next_size > TRACE_LEAST)
		c = store_trace(t->next_size = TRACE_LEAST);
	return c;
}

/* What it was used for is no more: at each moment its head is one that a reader may see. */
static void head_chunk(const struct trace *t, struct trace_chunk *c, uint64_t file, enum trace_interface interface,
		       int64_t now)
{
	__atomic_store_n(&c->used, 0, __ATOMIC_RELEASE);
	c->file = file;
	c->sequence = t->chunks;
	c->interface = (uint16_t)interface;
	c->thread = thread_number();
	c->began = now;
	__atomic_store_n(&c->size, t->next_size, __ATOMIC_RELEASE);
}

/* Begins one; its limit, or NULL. */
static uint8_t *next_chunk(struct trace *t, uint64_t file, enum trace_interface interface, int64_t now)
{
	struct trace_chunk *c = t->full ? NULL : take_chunk(t, interface);
	t->full = !c;
	if (!c)
		return NULL;
	head_chunk(t, c, file, interface, now);
	t->chunks++;
	t->chunk = c;
	t->at = (uint8_t *)(c + 1);
	t->ended = now;
	t->shard = self.shard;
	memset(t->pattern, 0, sizeof t->pattern);
	uint8_t *limit = (uint8_t *)c + t->next_size - TRACE_ITEM_MOST;
	if (!config.trace_newest)
		t->next_size = t->next_size < TRACE_MOST ? 2 * t->next_size : TRACE_MOST;
	return limit;
}

/* ---- items: what is stored in eight bytes at a time is overwritten by what follows ---- */

static uint8_t *put(uint8_t *to, uint64_t value, unsigned bytes)
{
	memcpy(to, &value, sizeof value);
	return to + bytes;
}

__attribute__((noinline)) static uint8_t *put_length(uint8_t *to, uint64_t length)
{
	for (; length >= 0x80; length >>= 7)
		*to++ = (uint8_t)(length | 0x80);
	*to++ = (uint8_t)length;
	return to;
}

static uint8_t *put_thread(struct trace *t, uint8_t *to)
{
	t->shard = self.shard;
	*to++ = TRACE_SPECIAL | TRACE_THREAD;
	return put(to, thread_number(), 2);
}

static uint8_t *put_time(struct trace *t, uint8_t *to, int64_t now)
{
	t->ended = now;
	*to++ = TRACE_SPECIAL | TRACE_TIME;
	return put(to, (uint64_t)now, 8);
}

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

/* How an item encodes where its access began. */
static enum trace_offset offset_kind(const struct trace_pattern *p, int64_t at)
{
	int64_t from_end = (int64_t)((uint64_t)at - (uint64_t)p->end);
	if (!from_end)
		return TRACE_CONSECUTIVE;
	if ((int64_t)((uint64_t)at - (uint64_t)p->at) == p->stride)
		return TRACE_STRIDE;
	return from_end == (int32_t)from_end ? TRACE_NEAR : TRACE_ANYWHERE;
}

static uint8_t *put_offset(const struct trace_pattern *p, enum trace_offset how, uint8_t *to, int64_t at)
{
	if (how < TRACE_NEAR)
		return to;
	return how == TRACE_NEAR ? put(to, (uint64_t)at - (uint64_t)p->end, 4) : put(to, (uint64_t)at, 8);
}

static void put_access(struct trace *t, uint8_t *to, enum io_op op, int64_t at, int64_t length, int64_t start,
		       int64_t end)
{
	struct trace_pattern *p = &t->pattern[op];
	uint64_t gap = zigzag(start - t->ended), duration = (uint64_t)(end - start);
	enum trace_offset how = offset_kind(p, at);
	unsigned gap_code = (gap > UINT8_MAX) + (gap > UINT16_MAX);
	unsigned duration_code = (duration > UINT8_MAX) + (duration > UINT16_MAX) + (duration > UINT32_MAX);
	*to++ = (uint8_t)((unsigned)op | how << TRACE_OFFSET_AT | (length != p->length ? TRACE_LENGTH : 0) |
			  gap_code << TRACE_GAP_AT | duration_code << TRACE_DURATION_AT);
	if (length != p->length)
		to = put_length(to, (uint64_t)length);
	to = put_offset(p, how, to, at);
	to = put(to, gap, 1u << gap_code);
	to = put(to, duration, 1u << duration_code);
	t->at = to;
	t->ended = end;
	*p = (struct trace_pattern){at, (int64_t)((uint64_t)at + (uint64_t)length),
				    (int64_t)((uint64_t)at - (uint64_t)p->at), length};
}

static uint8_t *lift(uint8_t **limit)
{
	uint8_t *before = *limit;
	*limit = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return before;
}

/* What is written is there. */
static void commit(struct trace *t)
{
	struct trace_chunk *c = t->chunk;
	__atomic_store_n(&c->used, (uint32_t)(t->at - (uint8_t *)(c + 1)), __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

struct access {
	enum trace_interface interface;
	enum io_op op;
	int64_t at, length, start, end; /* ticks */
};

/* Adds any access; the chunk's limit, or NULL where there was no room. */
static uint8_t *add(struct trace *t, uint64_t file, uint8_t *limit, const struct access *a)
{
	if (t->at > limit && !(limit = next_chunk(t, file, a->interface, a->start))) {
		drop(a->interface);
		return NULL;
	}
	uint8_t *to = t->at;
	if (t->shard != self.shard)
		to = put_thread(t, to);
	if (zigzag(a->start - t->ended) > UINT32_MAX)
		to = put_time(t, to, a->start);
	put_access(t, to, a->op, a->at, a->length, a->start, a->end);
	commit(t);
	return limit;
}

/* Is the chunk still the same? */
static bool owns_chunk(const struct trace *t, uint64_t file, enum trace_interface interface)
{
	const struct trace_chunk *c = t->chunk;
	return c && c->file == file && c->sequence == t->chunks - 1 && c->interface == interface;
}

static void add_to_ring(struct trace *t, uint64_t file, const struct access *a)
{
	if (!lock_take_deep(&ring)) {
		drop(a->interface);
		return;
	}
	uint8_t *limit = lift(&t->ring_limit);
	t->ring_limit = add(t, file, owns_chunk(t, file, a->interface) ? limit : NULL, a);
	lock_drop_deep(&ring);
}

__attribute__((noinline)) static void access_any(struct file *f, const struct access *a)
{
	struct trace *t = f->trace ? f->trace : begin(f, a->interface);
	if (!t || t->off)
		return;
	if (config.trace_newest) {
		add_to_ring(t, f->name->id, a);
		return;
	}
	uint8_t *limit = lift(&t->limit);
	t->limit = add(t, f->name->id, limit, a);
}

/*
 * The short way: an access of the same thread and length as the last one, at a place that needs no number, soon after that and
 * soon done. What it puts there is what put_access would.
 */
void trace_access(struct file *f, enum trace_interface interface, enum io_op op, int64_t at, int64_t length,
		  double start, double end)
{
	struct trace *t = f->trace;
	int64_t from = ticks(start), to = ticks(end);
	struct trace_pattern *p = t ? &t->pattern[op] : NULL;
	if (!(start >= config.trace_window.from && start <= config.trace_window.to))
		return;
	if (!t || t->at > t->limit || t->shard != self.shard || length != p->length)
		return access_any(f, &(struct access){interface, op, at, length, from, to});
	uint64_t gap = zigzag(from - t->ended), duration = (uint64_t)(to - from);
	uint64_t stride = (uint64_t)at - (uint64_t)p->at, item = (uint64_t)op;
	if (at != p->end)
		item |= TRACE_STRIDE << TRACE_OFFSET_AT;
	if ((at != p->end && (int64_t)stride != p->stride) || (gap | duration) > UINT16_MAX)
		return access_any(f, &(struct access){interface, op, at, length, from, to});
	unsigned wide_gap = gap > UINT8_MAX, wide_duration = duration > UINT8_MAX;
	item |= wide_gap << TRACE_GAP_AT | wide_duration << TRACE_DURATION_AT | gap << 8;
	uint8_t *limit = lift(&t->limit);
	t->at = put(t->at, item | duration << (16 + 8 * wide_gap), 3 + wide_gap + wide_duration);
	t->ended = to;
	p->at = at;
	p->stride = (int64_t)stride;
	p->end = (int64_t)((uint64_t)at + (uint64_t)length);
	commit(t);
	t->limit = limit;
}
