#include "arena.h"

#include <stdbool.h>
#include <string.h>

#include "lock.h"
#include "sys.h"

enum { CHUNK = 256 * 1024 };

static struct lock guard;
static char *next, *end;

static void *map(size_t n)
{
	return sys_map(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static bool refill(void)
{
	next = map(CHUNK);
	end = next ? next + CHUNK : NULL;
	return next;
}

void *arena_take(size_t n)
{
	n = (n + 15) & ~(size_t)15;
	if (n > CHUNK / 4)
		return map(n);
	lock_take(&guard);
	void *got = NULL;
	if ((size_t)(end - next) >= n || refill()) {
		got = next;
		next += n;
	}
	lock_drop(&guard);
	return got;
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
	lock_drop(&guard);
	next = end = NULL;
}
