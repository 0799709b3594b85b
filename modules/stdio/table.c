/* From a FILE to what we know of it: open addressing, read without a lock, grown by doubling. */
#include "state.h"

#include <string.h>
#include <unistd.h>

#include "arena.h"

enum { FIRST_BITS = 8, MAX_BITS = 18 };

/* Room for 128 streams without asking for memory. A table is changed under the lock; its slots are atomic: they are read without. */
static struct {
	struct stdio_table head;
	struct stdio_slot slot[1 << FIRST_BITS];
} first = {.head = {.shift = 64 - FIRST_BITS, .mask = (1 << FIRST_BITS) - 1}};

/* Written under the lock. The table is atomic: it is read without. */
struct stdio_table *stdio_table = &first.head;
static struct lock lock;
static size_t taken; /* slots with a key, closed ones included */
static size_t open_streams;

/* ---- by descriptor ---- */

FILE *stdio_numbered[STDIO_NUMBERS]; /* atomic: a stream that a race leaves out keeps its file */

static void change_one(FILE *f, struct stdio_stream *t, int fd, bool (*change)(struct stdio_stream *t, FILE *f))
{
	FILE **place = stdio_place(fd);
	if (f && t && stdio_place(t->fd) == place && !(t->fd == fd && change(t, f)))
		__atomic_store_n(place, *place ? STDIO_SEVERAL : f, __ATOMIC_RELAXED);
}

void stdio_changed(int fd, bool (*change)(struct stdio_stream *t, FILE *f))
{
	FILE **place = stdio_place(fd), *there = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	const struct stdio_table *table = __atomic_load_n(&stdio_table, __ATOMIC_ACQUIRE);
	bool all = there == STDIO_SEVERAL || fd <= STDERR_FILENO;
	if (!there && !all)
		return;
	__atomic_store_n(place, NULL, __ATOMIC_RELAXED);
	if (!all)
		change_one(there, stdio_stream_of(there), fd, change);
	for (size_t i = 0; all && i <= table->mask; i++)
		change_one(__atomic_load_n(&table->slot[i].key, __ATOMIC_ACQUIRE),
			   __atomic_load_n(&table->slot[i].stream, __ATOMIC_ACQUIRE), fd, change);
}

/* ---- by address ---- */

static struct stdio_slot *find(struct stdio_table *t, FILE *f)
{
	size_t i = stdio_home(t, f);
	while (t->slot[i].key && t->slot[i].key != f)
		i = (i + 1) & t->mask;
	return &t->slot[i];
}

/* Slots of closed streams that no search needs to pass any more become free. */
static void tidy(struct stdio_table *t, size_t i)
{
	while (!t->slot[(i + 1) & t->mask].key && t->slot[i].key && !t->slot[i].stream) {
		__atomic_store_n(&t->slot[i].key, NULL, __ATOMIC_RELEASE);
		taken--;
		i = (i - 1) & t->mask;
	}
}

/* A new table: twice as large, or where mostly closed streams fill the old one, as large. Readers may still be in that. */
__attribute__((cold, noinline)) static bool renew(void)
{
	struct stdio_table *old = stdio_table;
	unsigned larger = 4 * open_streams > old->mask;
	size_t slots = (old->mask + 1) << larger;
	if (slots > (size_t)1 << MAX_BITS)
		return false;
	struct stdio_table *t = arena_take(sizeof *t + slots * sizeof t->slot[0]);
	if (!t)
		return false;
	*t = (struct stdio_table){.shift = old->shift - larger, .mask = slots - 1};
	taken = 0;
	for (size_t i = 0; i <= old->mask; i++) {
		if (!old->slot[i].stream)
			continue;
		*find(t, old->slot[i].key) = old->slot[i];
		taken++;
	}
	__atomic_store_n(&stdio_table, t, __ATOMIC_RELEASE);
	return true;
}

static struct stdio_stream *replace(struct stdio_slot *at, FILE *f, struct stdio_stream *stream)
{
	struct stdio_stream *before = at->stream;
	taken += !at->key; /* first: a slot that is counted and not taken does no harm */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&at->stream, stream, __ATOMIC_RELEASE);
	open_streams += (size_t)(stream != NULL) - (size_t)(before != NULL);
	if (!at->key)
		__atomic_store_n(&at->key, f, __ATOMIC_RELEASE);
	return before;
}

/* Without the lock: what was known by the key is no more, its memory is not used again. */
static void forget(FILE *f)
{
	struct stdio_slot *at = find(stdio_table, f);
	if (at->key)
		__atomic_store_n(&at->stream, NULL, __ATOMIC_RELEASE);
}

/* Beyond the largest table a stream stays unknown. */
struct stdio_stream *stdio_table_set(FILE *f, struct stdio_stream *stream)
{
	struct stdio_stream *before = NULL;
	if (!lock_take(&lock)) {
		forget(f);
		return NULL;
	}
	bool room = !stream || 2 * taken <= stdio_table->mask || renew();
	struct stdio_slot *at = find(stdio_table, f);
	if (at->key || (stream && room))
		before = replace(at, f, stream);
	if (!stream && at->key)
		tidy(stdio_table, (size_t)(at - stdio_table->slot));
	lock_drop(&lock);
	return before;
}
