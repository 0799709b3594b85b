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

/* Where the offset of a description is, and where its last access ended: threads that share it change both without a lock. */
static inline int64_t run_get(const int64_t *place)
{
	return __atomic_load_n(place, __ATOMIC_RELAXED);
}

static inline void run_set(int64_t *place, int64_t value)
{
	__atomic_store_n(place, value, __ATOMIC_RELAXED);
}

/* Moves the cursor of a description from `at` on; false: another thread did. */
static inline bool run_move(struct posix_open *o, int64_t at, int64_t got)
{
	if (lock_is_needless()) {
		run_set(&o->offset, at + got);
		return true;
	}
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

/* After an access that was counted in the record, and was `step` behind the one before: a run may follow. Inside self_enter. */
void run_begin(const struct posix_open *o, enum io_op op, int fd, int64_t step, int64_t got);

/* After the most frequent length of a file may have become another one: meanwhile `usual` is POSIX_NONE. Holds its lock. */
void run_find_usual(struct posix_file *f);

/* Adds what the descriptor's run has to its file's record. Inside self_enter, without a lock. */
void run_settle(enum io_op op, int fd);

#endif
