/*
 * What iolens keeps of the calling thread: its way into the data path (capture/self.h) and the locks that it holds (lock.h). And
 * where that is which every process writes as it starts.
 */
#ifndef IOLENS_THREAD_H
#define IOLENS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct sampling_table;
struct state_communication;
struct state_shard;
struct lock;

enum { LOCK_DEEP = 4 };

/* Passes are odd and above SELF_APART, no gate is 0; the gate of a thread inside a record call is its stack pointer. */
enum self_gate {
	SELF_APART = 1, /* in place of the pass: it records, and has descriptors of its own (self_part) */
	SELF_NEW = 2,   /* no shard yet, or the process is not observed (any more) */
	SELF_OWN = 4    /* iolens works for itself: starting, ending, waking up */
};

struct self {
	uint64_t gate;
	uint64_t pass;   /* of the process in whose store the shard is; SELF_APART */
	uint64_t parted; /* the pass with which it left the process's descriptors for good, 0 = it has not */
	struct state_shard *shard;
	struct state_communication *communication; /* NULL: none yet in this shard */
	struct sampling_table *sampling;           /* which calls take the clock; NULL: all */
	uint64_t name;                             /* in the locks that it holds */
	struct lock *taken;                        /* the record's lock that it took last */
	struct lock *deep[LOCK_DEEP];
	uint32_t depth;
	uint32_t waits;    /* for locks that other threads had */
	uint64_t switched; /* the gate of a record call whose context was left by swapcontext and may come back */
	uintptr_t caller;  /* of the call that opens a file; 0 = none is being recorded */
	uintptr_t mpi;     /* the stack address of its call that starts or ends the MPI, 0 = none */
	uint32_t outer;    /* calls that ended and hold others that are recorded, too: MPI-IO's */
	bool shared;       /* the shard is used by other threads too */
	union {
		struct {
			bool special; /* shared, or accesses are traced: those of files take the long way */
			bool lined;   /* it may be in Python code: what takes the clock is counted by line, too */
		};
		uint16_t unusual; /* either */
	};
	bool sampled; /* not all of its calls are timed, or were (sampling.h) */
	bool inside;  /* a wrapped library's call, which may make its system calls through syscall() */
	uint8_t ends; /* how often it relies on the end that a thread has recorded (ending.h): its handlers do, too */
	bool apart;   /* it works on descriptors of its own (alone_do): the program does not see what it opens */
	bool gave_up; /* a file has no record since the wait for the table of names had its end (file.h) */
};

extern __thread struct self self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * Variables that every process writes as it starts lie together: each further page is one more for the kernel to make.
 *
 *	static int rings AT_START;
 */
#define AT_START __attribute__((section("iolens_start")))

/* What is large, and of which most processes write no more than the beginning: behind the others (start.ld). */
#define AT_START_LARGE __attribute__((section("iolens_start_large")))

#endif
