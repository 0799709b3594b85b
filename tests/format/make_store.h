/* Stores of the ranks of an MPI job, as the runtime leaves them. */
#ifndef IOLENS_MAKE_STORE_H
#define IOLENS_MAKE_STORE_H

#include <stdint.h>

/*
 * Rank `rank` of `nprocs`: files of its own, files that all ranks have, files that every third rank has, POSIX, MPI-IO and STDIO
 * records of them, a heat map, and live tables. Sums of its numbers are exact in any order.
 */
void make_store(const char *path, int64_t rank, int64_t nprocs);

#endif
