/*
 * Open addressing. A key stays when its handle is closed, because libraries use the same few addresses
 * again; a full table is replaced by one without the closed handles. A thread that still looks at the
 * old one finds in it what was open then.
 */
#include "arena.h"
#include "state.h"

struct slot {
	uintptr_t handle;
	struct mpiio_open *open;
};

struct table {
	size_t size;
	size_t used;
	struct slot slot[];
};

static struct table *table;
static struct mpiio_open *unused;
static struct lock lock;

static struct slot *slot_of(struct table *t, uintptr_t handle)
{
	size_t at = (handle * 0x9e3779b97f4a7c15u) >> 32;
	for (;; at++) {
		struct slot *s = &t->slot[at & (t->size - 1)];
		uintptr_t key = __atomic_load_n(&s->handle, __ATOMIC_ACQUIRE);
		if (key == handle || !key)
			return s;
	}
}

struct mpiio_open *mpiio_handle_find(uintptr_t handle)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	return t && handle ? __atomic_load_n(&slot_of(t, handle)->open, __ATOMIC_ACQUIRE) : NULL;
}

static void put(struct table *t, uintptr_t handle, struct mpiio_open *o)
{
	struct slot *s = slot_of(t, handle);
	t->used += !s->handle;
	__atomic_store_n(&s->open, o, __ATOMIC_RELEASE);
	__atomic_store_n(&s->handle, handle, __ATOMIC_RELEASE);
}

static bool renew(void)
{
	size_t open = 0, size = 64;
	for (size_t i = 0; table && i < table->size; i++)
		open += table->slot[i].open != NULL;
	while (size < 4 * (open + 1))
		size *= 2;
	struct table *t = arena_take(sizeof *t + size * sizeof *t->slot);
	if (!t)
		return false;
	t->size = size;
	for (size_t i = 0; table && i < table->size; i++)
		if (table->slot[i].open)
			put(t, table->slot[i].handle, table->slot[i].open);
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	return true;
}

static struct mpiio_open *take_unused(void)
{
	struct mpiio_open *o = unused;
	if (!o)
		return arena_take(sizeof *o);
	unused = o->next_free;
	return o;
}

struct mpiio_open *mpiio_handle_add(uintptr_t handle, struct mpiio_file *f)
{
	lock_take(&lock);
	bool room = (table && 2 * table->used < table->size) || renew();
	struct mpiio_open *o = room && handle ? take_unused() : NULL;
	if (o) {
		*o = (struct mpiio_open){.file = f};
		put(table, handle, o);
	}
	lock_drop(&lock);
	return o;
}

/* The memory stays a struct mpiio_open for ever: a thread that raced with close may still look at it. */
void mpiio_handle_remove(uintptr_t handle)
{
	lock_take(&lock);
	struct slot *s = table ? slot_of(table, handle) : NULL;
	struct mpiio_open *o = s ? s->open : NULL;
	if (o) {
		__atomic_store_n(&s->open, NULL, __ATOMIC_RELEASE);
		o->next_free = unused;
		unused = o;
	}
	lock_drop(&lock);
}

void mpiio_handles_forget(void)
{
	lock_drop(&lock);
	table = NULL;
	unused = NULL;
}
