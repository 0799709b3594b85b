/*
 * Open addressing. A number stays when its handle is closed, because MPIs use the same few addresses again; HDF5 never uses
 * one twice. A table half full of numbers is replaced by one without the closed handles, in the memory of the one
 * before it where that is large enough: what is taken is bounded by what is open at once.
 *
 * A thread that still looks at an old table finds in it what was open then. Where that memory is in use again it may miss
 * a handle, but never takes one for another: an entry counts only if the number still stands next to it.
 */
#include "handles.h"

#include <string.h>

#include "arena.h"

struct slot {
	uintptr_t number;
	void *what;
};

struct handle_table {
	size_t size;
	size_t used;
	struct slot slot[];
};

static struct slot *slot_of(struct handle_table *t, uintptr_t number)
{
	size_t at = (number * 0x9e3779b97f4a7c15u) >> 32;
	for (;; at++) {
		struct slot *s = &t->slot[at & (t->size - 1)];
		uintptr_t key = __atomic_load_n(&s->number, __ATOMIC_ACQUIRE);
		if (key == number || !key)
			return s;
	}
}

void *handles_find(const struct handles *h, uintptr_t number)
{
	struct handle_table *t = __atomic_load_n(&h->table, __ATOMIC_ACQUIRE);
	if (!t || !number)
		return NULL;
	struct slot *s = slot_of(t, number);
	void *what = __atomic_load_n(&s->what, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&s->number, __ATOMIC_ACQUIRE) == number ? what : NULL;
}

static void put(struct handle_table *t, uintptr_t number, void *what)
{
	struct slot *s = slot_of(t, number);
	t->used += !s->number; /* first: counted too often is harmless */
	__atomic_store_n(&s->what, what, __ATOMIC_RELEASE);
	__atomic_store_n(&s->number, number, __ATOMIC_RELEASE);
}

static size_t size_for(const struct handle_table *t)
{
	size_t open = 0, size = 64;
	for (size_t i = 0; t && i < t->size; i++)
		open += t->slot[i].what != NULL;
	while (size < 4 * (open + 1))
		size *= 2;
	return size;
}

/* The number is cleared before its entry: a thread that has found the entry sees that the number has changed. */
static void clear(struct handle_table *t)
{
	t->used = 0;
	for (size_t i = 0; i < t->size; i++) {
		__atomic_store_n(&t->slot[i].number, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&t->slot[i].what, NULL, __ATOMIC_RELEASE);
	}
}

static struct handle_table *empty_table(struct handles *h, size_t size)
{
	struct handle_table *t = h->before;
	if (t && t->size >= size) {
		clear(t);
		return t;
	}
	t = arena_take(sizeof *t + size * sizeof *t->slot);
	if (t)
		t->size = size;
	return t;
}

static bool renew(struct handles *h)
{
	struct handle_table *full = h->table, *t = empty_table(h, size_for(full));
	if (!t)
		return false;
	for (size_t i = 0; full && i < full->size; i++)
		if (full->slot[i].what)
			put(t, full->slot[i].number, full->slot[i].what);
	h->before = full;
	__atomic_store_n(&h->table, t, __ATOMIC_RELEASE);
	return true;
}

static void *take_unused(struct handles *h)
{
	struct handle *unused = h->unused;
	if (!unused)
		return arena_take(h->size);
	h->unused = unused->next_unused;
	return unused;
}

void *handles_add(struct handles *h, uintptr_t number, const void *what)
{
	if (!lock_take_deep(&h->lock))
		return NULL;
	bool room = (h->table && 2 * h->table->used < h->table->size) || renew(h);
	void *kept = room && number ? take_unused(h) : NULL;
	if (kept) {
		memcpy(kept, what, h->size);
		put(h->table, number, kept);
	}
	lock_drop_deep(&h->lock);
	return kept;
}

void *handles_remove(struct handles *h, uintptr_t number)
{
	bool locked = lock_take_deep(&h->lock);
	struct slot *s = h->table && number ? slot_of(h->table, number) : NULL;
	void *what = s ? s->what : NULL;
	if (what)
		__atomic_store_n(&s->what, NULL, __ATOMIC_RELEASE);
	if (locked)
		lock_drop_deep(&h->lock);
	return what;
}

void handles_release(struct handles *h, void *what)
{
	if (!lock_take_deep(&h->lock))
		return;
	((struct handle *)what)->next_unused = h->unused;
	h->unused = what;
	lock_drop_deep(&h->lock);
}

void handles_forget(struct handles *h)
{
	h->table = h->before = NULL;
	h->unused = NULL;
}
