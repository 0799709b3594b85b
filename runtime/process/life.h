/*
 * The life of an observed process: start, fork, exec and its many ways to end.
 */
#ifndef IOLENS_LIFE_H
#define IOLENS_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "epoch.h"
#include "process_state.h"

/* A module as the runtime knows it; registered by LIFE_MODULE. */
struct life_module {
	int module;                 /* module id in the log, 0 = none */
	void (*start)(void);        /* the store is there, nothing is recorded yet */
	void (*fork_share)(void);   /* the process forks: what it has open is shared from now on */
	void (*fork_save)(void);    /* forked child, the parent's store still mapped: copy what must survive */
	void (*fork_restore)(void); /* forked child, own empty store */
	bool (*touched)(void); /* forked child that has recorded nothing and ends: has it moved bytes all the same? */
	void (*end)(void);     /* the process ends or execs: count what is still uncounted; may come again */
};

#define LIFE_MODULE(name, ...)                                                                                      \
	__attribute__((section("iolens_modules"), used)) static const struct life_module *const name##_registered = \
		&(const struct life_module)                                                                         \
	{                                                                                                           \
		__VA_ARGS__                                                                                         \
	}

/* The first operation of a process maps its store, that of a forked child gives it one of its own. */
bool life_wake(void);

/* The process is about to go where its store may be out of reach: what is asleep wakes, a forked child gets its own now. */
void life_rouse(void);

/* Seals the process's row. Harmless in a child that shares our memory, and when called twice. */
void life_end(enum state_end reason, int code);

/* An exec failed: the process goes on. */
void life_go_on(void);

/*
 * The process is about to forbid itself system calls: what needs them is done now, or never. Without the time stamp counter,
 * which every clock reads, the calling thread records nothing any more.
 */
void life_confine(bool no_clock);

/* The process forks, or is about to. */
void life_share(void);

/* ---- MPI ---- */

struct life_world {
	int64_t size, rank; /* 0, 0 = unknown */
	int64_t local_size; /* ranks on this node, 0 = the launcher does not say */
	int64_t local_rank;
	uint64_t id;      /* the same in all ranks */
	uint64_t meeting; /* the same in all ranks on this node, and unique */
	const char *mpi;  /* name of the backend, "" = none */
};

enum life_keeping {
	LIFE_NONE,    /* not observed */
	LIFE_SESSION, /* `iolens run` will make the log */
	LIFE_STORE    /* the ranks must */
};

/* MPI_Init returned: observation starts here where only MPI programs are observed. */
void life_join_world(const struct life_world *w);

/* A rank ends by itself, without MPI_Finalize: called when its row is sealed. */
extern void (*life_on_rank_end)(void);

/* MPI_Finalize begins. With LIFE_STORE the row is sealed and nothing is recorded any more. */
enum life_keeping life_leave_world(void);

/* The settings forbid to observe this process. */
bool life_forbidden(void);

/* Another library of iolens observes this process: this one does nothing at all. */
bool life_behind(void);

/* This process is an observed rank, not a child of one. */
bool life_is_rank(void);

/* True when this process was to be observed, and its store could not be made. */
bool life_storeless(void);

/* `iolens run` makes the log, whether or not this process has a store. */
bool life_in_session(void);

int64_t life_job(void);
const struct epoch *life_epoch(void);

#endif
