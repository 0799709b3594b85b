/*
 * What MPI's calls are counted as: for each kind of call how often, bytes, size classes and times, in memory that the calling
 * thread has for itself. No lock, no record; the assembly adds the threads up (format/assemble/assembly_communication.c).
 */
#ifndef IOLENS_APMPI_RECORD_H
#define IOLENS_APMPI_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "mpi/types.h"
#include "process_state.h"
#include "self.h"

/* A call that is being watched. */
struct apmpi_span {
	struct state_communication *to; /* NULL: it is not counted */
	double start;                   /* s */
};

/* Where the calling thread counts; NULL when it cannot, or the module is off. */
__attribute__((cold)) struct state_communication *apmpi_thread(void);

static inline struct apmpi_span apmpi_span(void)
{
	struct apmpi_span s = {NULL, 0};
	if (!self_ready())
		return s;
	s.to = __builtin_expect(self.communication != NULL, 1) ? self.communication : apmpi_thread();
	s.start = clock_now();
	return s;
}

/* Exported by libiolens-synchronization.so alone: whether a process has it is the same as whether it preloads it. */
extern const char iolens_mpi_synchronization __attribute__((weak, visibility("default")));

__attribute__((cold)) void apmpi_synchronize(uintptr_t comm, enum state_call_id call);

/* Before a collective call that blocks; every rank does it or none, whatever it counts. */
static inline struct apmpi_span apmpi_synchronized_span(uintptr_t comm, enum state_call_id call)
{
	if (__builtin_expect(&iolens_mpi_synchronization != NULL, 0))
		apmpi_synchronize(comm, call);
	return apmpi_span();
}

/* A successful call. Its bytes are computed once its end is known. */
void apmpi_add(struct apmpi_span s, double end, enum state_call_id call, int64_t bytes);

/* A call whose time is counted elsewhere: it has completed accesses to files. */
void apmpi_add_untimed(struct apmpi_span s, enum state_call_id call);

/* ---- bytes ---- */

/* Bytes of a receive: those received if the status says so, otherwise those requested. */
int64_t apmpi_received(const void *status, int64_t count, uintptr_t type);

/* What a rank hands over, or takes: the second pair where the buffer is MPI_IN_PLACE. */
int64_t apmpi_own(const void *buffer, int64_t count, uintptr_t type, int64_t in_place_count, uintptr_t in_place_type);

/* The sums over all that a collective call sends to, and over the neighbours in its topology. */
int64_t apmpi_each(uintptr_t comm, int64_t bytes);
int64_t apmpi_each_target(uintptr_t comm, int64_t bytes);
int64_t apmpi_all(uintptr_t comm, const int *counts, uintptr_t type);
int64_t apmpi_all_of(uintptr_t comm, const int *counts, const void *types);
int64_t apmpi_all_targets(uintptr_t comm, const int *counts, uintptr_t type);
int64_t apmpi_all_targets_of(uintptr_t comm, const int *counts, const void *types);
bool apmpi_in_place(const void *buffer);
int apmpi_rank(uintptr_t comm);

/* ---- persistent requests: what each start of one hands over ---- */

void apmpi_remember(const void *request, int64_t bytes);
int64_t apmpi_started(const void *requests, int64_t count);

#endif
