#include "sampling.h"

#include <string.h>

#include "arena.h"
#include "self.h"

enum {
	LEAST_DRAWN = 8,
	DRAWN = 16,       /* a power of two: numbers from LEAST_DRAWN on that may be drawn */
	WEIGHT = 16,      /* of all calls before in the average time of one */
	MOST_DOUBTS = 16, /* before a slow moment is seen for what it is */
	MEETING = 64,     /* one call of so many waited for a lock */
};

/*
 * A call, and the time from one to the next, s: beyond that the clock costs nothing that matters, unless threads meet at a
 * record's lock, which calls that take no clock need less.
 */
#define MOST_TIME   2e-6
#define MOST_PERIOD 4e-6
/* Of the time in calls. */
#define MOST_DOUBTFUL 0.02

static struct sampling_table *tables[STATE_SHARDS]; /* each of the one thread that has the shard of its number */

bool sampling_lined; /* set under the lock of site.c */

static bool always(void)
{
	return config.times == TIMES_ALWAYS_SAMPLED;
}

/* No pattern in the program falls into step with it. */
static uint32_t draw(void)
{
	struct sampling_table *t = self.sampling;
	t->random = t->random * 1664525u + 1013904223u;
	return LEAST_DRAWN + (t->random >> 24) % DRAWN;
}

/* All calls are timed, from the one on that ended at `end`. */
static void time_all(struct sampling *k, double end)
{
	if (!k->drawn)
		k->total += k->busy;
	k->drawn = k->left = k->calls = 0;
	k->busy = 0;
	k->began = k->ended = end;
	k->waits = self.waits;
}

static void begin(struct sampling *k, struct span s, int64_t bytes, double end)
{
	time_all(k, end);
	k->id = ((const struct fds_open *)s.at)->id;
	k->largest = bytes;
}

static void count(enum state_operation_id operation, int64_t calls, double time)
{
	self.shard->operation[operation].count += calls;
	self.shard->operation[operation].time += time;
}

static void doubt(struct sampling *k, int64_t calls, double seconds, double until)
{
	count(STATE_OP_IOLENS_DOUBTFUL, calls, seconds);
	k->doubtful += seconds;
	k->doubts++;
	time_all(k, until);
}

bool sampling_take(struct span s, enum io_op op, double start, struct sampled *before)
{
	struct sampling *k = sampling_of(s.fd, op);
	uint32_t calls = k ? k->drawn - k->left : 0;
	if (!calls || !sampling_is(k, s))
		return false;
	double passed = start - k->ended, most = 1.5 * calls * k->period + SAMPLING_SLOW,
	       all = k->rest + calls * k->busy;
	double busy = all < passed ? all : passed;
	*before = (struct sampled){k->ended, passed > most ? k->ended + most : start, busy, k->outer != self.outer};
	count(STATE_OP_IOLENS_UNTIMED, calls, busy);
	count(STATE_OP_IOLENS_TIMED, 1, 0);
	k->total += busy;
	k->rest = all - busy;
	k->drawn = k->left = draw();
	k->outer = self.outer;
	if (passed > most && !always())
		doubt(k, calls, passed - busy, start);
	return true;
}

static void slow_moment(struct sampling *k, double took, double between)
{
	k->doubts = 0;
	if (took >= SAMPLING_SLOW) {
		k->slow += took;
		k->total += took;
	} else {
		k->paused += between;
	}
}

/* Of what is doubtful as much was slow calls as of the slow moments in which all calls were timed. */
static bool within_bounds(const struct sampling *k)
{
	double known = k->slow + k->paused;
	double slow = known > 0 ? k->doubtful * k->slow / known : k->doubtful;
	return slow <= MOST_DOUBTFUL * k->total && k->doubts < MOST_DOUBTS;
}

static void enough(struct sampling *k, double end)
{
	double took = k->busy / k->calls, period = (end - k->began) / k->calls;
	bool meet = self.waits - k->waits > k->calls / MEETING;
	time_all(k, end);
	bool clock_matters = meet || (took <= MOST_TIME && period <= MOST_PERIOD);
	if (!(clock_matters && within_bounds(k)) && !always())
		return;
	k->busy = took;
	k->rest = 0;
	k->period = period;
	k->drawn = k->left = draw();
	k->outer = self.outer;
	self.sampled = true;
}

void sampling_learn(struct sampling *k, struct span s, int64_t bytes, double end)
{
	double took = end - s.start, between = s.start - k->ended;
	if (!((const struct fds_open *)s.at)->id)
		return;
	if (!sampling_is(k, s) || bytes > k->largest) {
		begin(k, s, bytes, end);
	} else if (!always() && (took >= SAMPLING_SLOW || (!k->drawn && between >= SAMPLING_SLOW))) {
		slow_moment(k, took, between);
		time_all(k, end);
	} else if (k->drawn) {
		k->busy += (took - k->busy) / WEIGHT;
		k->total += took;
		k->ended = end;
	} else if (k->calls) {
		enough(k, end);
	} else {
		time_all(k, end);
	}
}

void sampling_adopt(int shard)
{
	self.sampled = false;
	self.sampling = NULL;
	self.lined = sampling_lined;
	if (self.special || config.times == TIMES_EXACT)
		return;
	if (!tables[shard])
		tables[shard] = arena_take(sizeof *tables[shard]);
	else
		memset(tables[shard], 0, sizeof *tables[shard]);
	self.sampling = tables[shard];
}

void sampling_start(void)
{
	self_on_shard = sampling_adopt;
}
