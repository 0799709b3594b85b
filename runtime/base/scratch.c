#include "scratch.h"

#include <stdbool.h>
#include <string.h>

#include "alloc.h"
#include "lock.h"
#include "sys.h"

/*
 * Four sizes for each power of two, so that few pages are touched for the first time: 2 us each on a virtual machine. What is
 * larger than a bin's has a mapping of its own. Chunks grow, so that a small log takes little address space, and a large one few
 * system calls.
 */
enum {
	SMALLEST_BITS = 6,
	STEPS = 4,
	DOUBLINGS = 14,
	BINS = STEPS * DOUBLINGS + 1,
	FIRST_CHUNK = 256 << 10,
	CHUNK = 8 << 20
};

struct block {
	size_t size; /* with this head */
	struct block *next;
};

_Static_assert(sizeof(struct block) == 16, "keeps blocks aligned");

/* Under its lock. */
static struct {
	struct lock lock;
	struct block *bin[BINS];
	char *next, *end;
	size_t chunk;
} scratch;

static void *map(size_t n)
{
	return sys_map(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static struct block *take_mapped(size_t n)
{
	struct block *b = map(n);
	if (b)
		b->size = n;
	return b;
}

static void refill(size_t least)
{
	size_t n = scratch.chunk ? 2 * scratch.chunk : FIRST_CHUNK;
	n = n < CHUNK ? n : CHUNK;
	n = n > least ? n : least;
	while (!(scratch.next = map(n)) && n > least) /* memory is limited, or locked: less may do */
		n = n / 2 > least ? n / 2 : least;
	scratch.end = scratch.next ? scratch.next + n : NULL;
	scratch.chunk = n;
}

static struct block *cut(size_t n)
{
	if (scratch.end - scratch.next < (ptrdiff_t)n)
		refill(n);
	if (!scratch.next)
		return NULL;
	struct block *b = (struct block *)scratch.next;
	scratch.next += n;
	b->size = n;
	return b;
}

/* With the head: what programs ask for, a power of two, fits a bin. */
static size_t size_of(int bin)
{
	size_t power = (size_t)1 << (SMALLEST_BITS + bin / STEPS);
	return power + (size_t)(bin % STEPS) * (power / STEPS) + sizeof(struct block);
}

static int bin_of(size_t n)
{
	n -= sizeof(struct block);
	if (n <= (size_t)1 << SMALLEST_BITS)
		return 0;
	int bits = 63 - __builtin_clzll(n - 1);
	if (bits >= SMALLEST_BITS + DOUBLINGS)
		return BINS;
	return STEPS * (bits - SMALLEST_BITS) + (int)((n - 1) >> (bits - 2)) - STEPS + 1;
}

/* A free block of that size or of up to twice as much. */
static struct block *take_free(int bin)
{
	for (int end = bin + STEPS < BINS ? bin + STEPS : BINS; bin < end; bin++) {
		struct block *b = scratch.bin[bin];
		if (!b)
			continue;
		scratch.bin[bin] = b->next;
		return b;
	}
	return NULL;
}

static void *take(size_t n, bool *fresh)
{
	int bin = bin_of(n += sizeof(struct block));
	struct block *b = NULL;
	*fresh = true;
	if (bin == BINS) {
		b = take_mapped(n);
		return b ? b + 1 : NULL;
	}
	if (!lock_take_deep(&scratch.lock))
		return NULL;
	b = take_free(bin);
	*fresh = !b;
	if (!b)
		b = cut(size_of(bin));
	lock_drop_deep(&scratch.lock);
	return b ? b + 1 : NULL;
}

static void *get(size_t n)
{
	bool fresh;
	return take(n, &fresh);
}

static void *get_zeroed(size_t n, size_t size)
{
	bool fresh;
	if (__builtin_mul_overflow(n, size, &size))
		return NULL;
	void *block = take(size, &fresh);
	return block && !fresh ? memset(block, 0, size) : block;
}

static void put(void *at)
{
	struct block *b = at ? (struct block *)at - 1 : NULL;
	if (!b)
		return;
	int bin = bin_of(b->size);
	if (bin == BINS) {
		sys_unmap(b, b->size);
		return;
	}
	if (!lock_take_deep(&scratch.lock))
		return;
	b->next = scratch.bin[bin];
	scratch.bin[bin] = b;
	lock_drop_deep(&scratch.lock);
}

void scratch_use(void)
{
	log_memory = (struct log_memory){get, get_zeroed, put};
}

void scratch_reset(void)
{
	if (scratch.lock.owner || !lock_is_needless())
		memset(&scratch, 0, sizeof scratch);
}
