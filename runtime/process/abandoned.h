/*
 * Stores of processes that ended without making their log, because a signal ended them: the next processes of the same user make
 * the logs, or remove the stores (the setting ABANDONED), a few at a time. Sessions and MPI jobs have directories of their own.
 */
#ifndef IOLENS_ABANDONED_H
#define IOLENS_ABANDONED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Deals with at most `most` stores of `directory`, and begins none after `nanoseconds`. Without `logs` stores are only removed,
 * where their file system becomes full, or by the setting.
 */
void abandoned_collect(const char *directory, int most, int64_t nanoseconds, bool logs);

#endif
