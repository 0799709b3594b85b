/*
 * Mapped files: page faults are no calls, so what was read and written is counted in pages, when a file is unmapped and
 * when the process ends (docs/decisions/0016).
 */
#ifndef IOLENS_POSIX_MAP_H
#define IOLENS_POSIX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fds.h"

/* mmap gave `at` for the descriptor of the span. */
void map_began(struct span s, void *at, size_t n, int protection, int flags, int64_t from);

/* What is taken out of the table while it is unmapped: its address may be another thread's before we hear of the result. */
struct map_taken {
	uintptr_t from, to;
	int n;
	bool more; /* is still in the table */
	struct mapping {
		uintptr_t from, to;
		bool shared;
		bool writable;               /* and shared */
		bool unmeasured;             /* what was written was not always measured */
		int64_t read, dirty, synced; /* pages that are counted: read, written, written and clean again */
	} mapping[4];
};

/*
 * Before [at, at + n) is unmapped, or [old, old + n) gets another size, of which only what becomes too much is unmapped; and after
 * that, which goes with either.
 */
void map_unmapping(struct map_taken *taken, const void *at, size_t n);
void map_resizing(struct map_taken *taken, const void *old, size_t n, size_t room);
void map_unmapped(const struct map_taken *taken, bool good);

/* Before its pages are given back. */
void map_measure(const void *at, size_t n);

/* After its pages were given back: touching them reads them again. */
void map_renewed(const void *at, size_t n);

/* Before msync: what it writes is no longer to be seen in the pages. */
void map_measure_written(const void *at, size_t n);

/* After mremap. */
void map_moved(const void *old, size_t n, void *at, size_t room);

/* The process ends; may come again. */
void map_measure_all(void);

/* In a forked child that has recorded nothing: has it used an inherited mapping? */
bool map_touched(void);

/* In a forked child: the mappings are inherited, the pages that the parent touched are not the child's. */
void map_inherit(void);

#endif
