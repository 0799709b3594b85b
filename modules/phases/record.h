/* The stack of phases of each thread. */
#ifndef IOLENS_PHASES_RECORD_H
#define IOLENS_PHASES_RECORD_H

#include <stdint.h>

/* All keep errno. `name` NULL at the end: the phase that began last. One that the thread is not in ends nothing. */
void phase_begin(const char *name);
void phase_end(const char *name);

/*
 * Ranges of other interfaces are phases, too, but may overlap: what began in one that ends goes on. `of`, an address of theirs,
 * tells whose pushed ranges one is, which end in their order; of one that is ended by its id, perhaps in another thread, it is
 * NULL. Returns the id; 0: there is no range.
 */
uint64_t phase_range_begin(const char *name, const void *of);
void phase_range_end(uint64_t id);
void phase_range_end_last(const void *of);

/* It was another phase, as its end shows. */
void phase_range_end_as(uint64_t id, const char *name);

/* Of a library, where the thread is in a phase of a loader; 0 elsewhere, and within a library's. */
uint64_t phase_range_begin_library(const char *name);

/* The same of the thread's innermost one that phase_begin began. */
void phase_end_as(const char *name);

#endif
