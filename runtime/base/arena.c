#include "arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "thread.h"
#include "lock.h"
#include "sys.h"

enum { CHUNK = 256 * 1024, LINE = 64, SMALL = 32 };

/* Before the first file little is taken: that needs no mapping. Given out once, under the lock. */
static char first[1024] AT_START __attribute__((aligned(LINE)));

/* Under the lock; `end` first where there is nothing to be had. */
static struct lock guard AT_START;
static char *next AT_START = first, *end AT_START = first + sizeof first;

static void *map(size_t n)
{
	return sys_map(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

/* In this order: between the two there is nothing to be had. */
static bool refill(void)
{
	char *fresh = map(CHUNK);
	end = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	next = fresh;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	end = fresh ? fresh + CHUNK : NULL;
	return fresh;
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static char *cut(size_t n, size_t grain)
{
	char *got = next + (round_up((uintptr_t)next, grain) - (uintptr_t)next);
	if (!next || end - got < (ptrdiff_t)n) {
		if (!refill())
			return NULL;
		got = next;
	}
	next = got + n;
	return got;
}

void *arena_take(size_t n)
{
	size_t grain = n > SMALL ? LINE : 16;
	n = round_up(n, grain);
	if (n > CHUNK / 4)
		return map(n);
	if (!lock_take_deep(&guard))
		return NULL;
	char *got = cut(n, grain);
	lock_drop_deep(&guard);
	return got;
}

void arena_reserve(size_t n)
{
	if (!lock_take_deep(&guard))
		return;
	if (!next || end - next < (ptrdiff_t)n)
		refill();
	lock_drop_deep(&guard);
}

char *arena_copy(const char *text, size_t n)
{
	char *copy = arena_take(n + 1);
	if (copy)
		memcpy(copy, text, n);
	return copy;
}

void arena_reset(void)
{
	if (guard.owner || !lock_is_needless())
		next = end = NULL;
	guard.owner = 0;
}
