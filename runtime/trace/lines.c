#include "lines.h"

#include <string.h>

#include "arena.h"
#include "clock.h"
#include "python_lines.h"
#include "site.h"
#include "store.h"

enum {
	CACHED = 64,  /* sums of a thread, by stack, file and kind; a power of two */
	STACKS = 16,  /* stacks of a thread; a power of two */
	SUMS = 4096,  /* places for sums of the process; a power of two */
	FULL = 3072,  /* of these that are used for a file each; */
	MOST = 3584,  /* the rest for lines: what they do with files for which there is no room */
	SLOW = 50000, /* ns: a call whose line is always looked for */
};

/* A code object may end, and another one take its place: what is known of a stack is looked at again. */
#define KNOWN_FOR 0.01 /* s */

/* What looking for lines may take: at first, and of the time that passes. */
#define SPENT_AT_ONCE 0.005 /* s */
#define SPENT_SHARE   0.02
#define SPENT_EACH    20e-6 /* s at most: the rest is another process's doing */

struct stack {
	uint64_t frames; /* as python_frames has them; 0 = none */
	uint64_t number; /* of the stack in the store */
	double until;
};

struct cached {
	uint64_t frames, file, kind;
	struct state_line_sum *sum;
	double until;
};

/* Of a thread, next to its shard. */
struct lines {
	uint64_t pass; /* of the process; else all of it is of another store, as in a forked child */
	double since, spent;
	struct stack stack[STACKS];
	struct cached cached[CACHED];
};

static struct lines *of_shard[STATE_SHARDS]; /* each of the one thread that has the shard of its number */

/* Under the lock. */
static struct {
	struct lock lock;
	uint64_t pass;               /* of the process that these are of */
	struct state_line_sum **sum; /* SUMS of them, by file and kind; NULL = none yet */
	uint32_t used;
} known;

static struct lines *of_thread(double now)
{
	if (self.shared || !self.shard)
		return NULL;
	struct lines **at = &of_shard[self.shard - store_state()->shard], *l = *at;
	if (!l)
		l = *at = arena_take(sizeof *l);
	if (l && l->pass != self_pass()) {
		memset(l, 0, sizeof *l);
		l->pass = self_pass();
		l->since = now;
	}
	return l;
}

static uint64_t mixed(uint64_t x, uint64_t y)
{
	return (x ^ y * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
}

/* Threads that have one stack and use one file add to one sum. */
static void add(struct state_line_sum *s, const struct lines_call *c)
{
	int64_t times = c->calls ? c->calls : 1, ns = (int64_t)((c->end - c->start) * 1e9);
	__atomic_fetch_add(&s->calls, c->calls, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->bytes, c->bytes * times, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->time, ns > 0 ? ns * times : 0, __ATOMIC_RELAXED);
}

/* ---- where the thread is ---- */

/* Number of the thread's stack in the store; 0: it is in no Python code, or that is not to be looked for now. */
static uint64_t find_stack(struct lines *l, uint64_t frames, const struct lines_call *c)
{
	struct stack *s = &l->stack[(frames >> 32) % STACKS];
	if (frames && s->frames == frames && c->end < s->until)
		return s->number;
	if (l->spent > SPENT_AT_ONCE + SPENT_SHARE * (c->end - l->since) && (c->end - c->start) * 1e9 < SLOW)
		return 0;
	uint64_t number = site_stack();
	double now = clock_now(), took = now - c->end;
	l->spent += took < SPENT_EACH ? took : SPENT_EACH;
	if (frames)
		*s = (struct stack){frames, number, now + KNOWN_FOR};
	return number;
}

/* The sum, or a free place for it. Holds the lock. */
static struct state_line_sum **find_place(uint64_t file, uint64_t at)
{
	uint64_t n = mixed(file, at) >> 40;
	struct state_line_sum **place = &known.sum[n % SUMS];
	while (*place && ((*place)->file != file || (*place)->at != at))
		place = &known.sum[++n % SUMS];
	return place;
}

/* NULL: there is no room. */
static struct state_line_sum *find_sum(uint64_t file, uint64_t at)
{
	struct state_line_sum new = {.head = {.size = sizeof new, .id = SITE_SUM}, .file = file, .at = at},
			      *found = NULL;
	if (!lock_take_deep(&known.lock))
		return NULL;
	if (!known.sum)
		known.sum = arena_take(SUMS * sizeof *known.sum);
	else if (known.pass != self_pass())
		memset(known.sum, 0, SUMS * sizeof *known.sum);
	if (known.pass != self_pass())
		known.used = 0;
	known.pass = self_pass();
	struct state_line_sum **place = known.sum ? find_place(file, at) : NULL;
	if (place && !*place && known.used < (file ? FULL : MOST) && (*place = store_site(&new, sizeof new)))
		known.used++;
	if (place)
		found = *place;
	lock_drop_deep(&known.lock);
	return found;
}

__attribute__((noinline)) static void look_up(struct lines *l, struct cached *at, struct cached what,
					      const struct lines_call *c)
{
	uint64_t stack = find_stack(l, what.frames, c);
	if (stack) {
		what.sum = find_sum(what.file, SITE_AT(c->slot, stack, c->op));
		if (!what.sum)
			what.sum = find_sum(0, SITE_AT(c->slot, stack, c->op));
	}
	if (!what.sum)
		return;
	what.until = c->end + KNOWN_FOR;
	if (what.frames)
		*at = what;
	add(what.sum, c);
}

void (*lines_also)(const struct file *f, const struct lines_call *c);

void lines_add(const struct file *f, const struct lines_call *c)
{
	if (__builtin_expect(lines_also != NULL, 0))
		lines_also(f, c);
	struct lines *l = of_thread(c->end);
	if (!l)
		return;
	struct cached what = {
		.frames = python_frames(), .file = f->name->id, .kind = (uint64_t)c->slot * IO_OPS + c->op};
	struct cached *at = &l->cached[mixed(what.frames, what.file + what.kind) >> 32 & (CACHED - 1)];
	if (what.frames && at->frames == what.frames && at->file == what.file && at->kind == what.kind &&
	    c->end < at->until)
		add(at->sum, c);
	else
		look_up(l, at, what, c);
}
