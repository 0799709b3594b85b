/*
 * Runs: accesses of one thread that take no clock (sampling.h), as long as the one before and as far from it. They are counted
 * in the thread's shard, where no other thread writes, and added to their file's record when a call takes the clock. The seeks
 * of a descriptor that take no clock are a run, too.
 */
#ifndef IOLENS_POSIX_RUN_H
#define IOLENS_POSIX_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "state.h"

/* Of a thread that samples: it has a shard of its own. */
static inline struct state_run *run_of(enum io_op op, int fd)
{
	return &self.shard->run[op][(unsigned)fd % STATE_RUNS];
}

/* A place that a thread changes without a lock: the offset of a description, where its last access ended. */
static inline int64_t run_get(const int64_t *place)
{
	return __atomic_load_n(place, __ATOMIC_RELAXED);
}

static inline void run_set(int64_t *place, int64_t value)
{
	__atomic_store_n(place, value, __ATOMIC_RELAXED);
}

/* Where several threads move a cursor, each access takes the lock: what is behind it would be counted as a stride otherwise. */
void run_take_cursor(struct posix_open *o);

/* The calling thread moves the cursor, which others may do, too. Holds the file's lock. */
static inline void run_share_cursor(struct posix_open *o)
{
	if (__builtin_expect(o->by != self.name && o->by != POSIX_SEVERAL, 0))
		run_take_cursor(o);
}

/* Moves the cursor of a description from `at` on; false: another thread did, or may. */
static inline bool run_move(struct posix_open *o, int64_t at, int64_t got)
{
	if (lock_is_needless()) {
		run_set(&o->offset, at + got);
		return true;
	}
	if (__atomic_load_n(&o->by, __ATOMIC_RELAXED) != self.name)
		return false;
	return __atomic_compare_exchange_n(&o->offset, &at, at + got, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* True: this access is another one of the run, the next one of its description. */
static inline bool run_goes_on(const struct state_run *run, const struct posix_open *o, enum io_op op, int64_t at,
			       int64_t got)
{
	const struct posix_file *f = o->file;
	int64_t last = run_get(&o->last[op]);
	return run->of == (uintptr_t)f && got == run->bytes && last == run->end && at - last == run->step &&
	       __atomic_load_n(&f->last_op, __ATOMIC_RELAXED) == (int8_t)op;
}

/* One more. A thread that jumps away between leaves all but this one. */
static inline void run_add(struct state_run *run, struct posix_open *o, enum io_op op, const void *buffer, int64_t at,
			   int64_t got)
{
	const struct posix_file *f = o->file;
	int64_t end = at + got - 1;
	run_set(&o->last[op], end);
	run->end = end;
	run->mem_not_aligned += ((uint32_t)(uintptr_t)buffer & f->memory_mask) != 0;
	run->file_not_aligned += ((uint32_t)at & f->file_mask) != 0;
	run->count++;
}

/* The run, which is settled, goes on behind the description's last access. Of none behind the first byte a distance is counted. */
static inline void run_follow(struct state_run *run, const struct posix_open *o, enum io_op op)
{
	int64_t last = run_get(&o->last[op]);
	run->end = last > 0 || run->step <= 0 ? last : POSIX_NONE;
}

/*
 * After an access that was counted in the record, and was `step` behind the one before: a run may follow, if the record shows
 * what it is to count. The descriptor's run is settled. Inside self_enter, holds the file's lock.
 */
void run_begin(const struct posix_open *o, enum io_op op, int fd, int64_t step, int64_t got);

/* The same of seeks. Holds no lock. */
void run_begin_seeks(const struct posix_open *o, int fd);

/* After the most frequent length of a file may have become another one: meanwhile `usual` is POSIX_NONE. Holds its lock. */
void run_find_usual(struct posix_file *f);

/* Adds what the descriptor's run has to its file's record. Inside self_enter, without a lock. */
void run_settle(enum io_op op, int fd);

/* The calling thread does not go on with what it began, which may have been to add a run: the rest of it. */
void run_give_up(struct state_shard *shard);

/* The times of the calls before `start` that took no clock (sampling.h). */
void posix_settle(struct span s, enum io_op op, double start);

#endif
