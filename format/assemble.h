/*
 * From the stores of processes to logs (docs/reference/trailer.md tells what goes where).
 *
 * Without MPI: one log, program image i in order of start becomes rank i.
 * With MPI: one log for each MPI_COMM_WORLD, with its size and ranks; what a file's records of all ranks say is one record
 * of rank -1. What stands around the ranks (launchers, shells) is in the process table with its totals, as rank -1. Processes
 * of other kinds that read or wrote files get a log of their own, as without MPI.
 * Time counts from the session's epoch.
 */
#ifndef IOLENS_ASSEMBLE_H
#define IOLENS_ASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "epoch.h"
#include "error.h"

/* Time that making the log took before the assembly began: goes into its trailer. */
struct assemble_phase {
	const char *name;
	double seconds;
};

/* What an assembly found besides logs. */
struct assemble_found {
	size_t running;       /* processes that went on while their stores were read */
	size_t torn;          /* damaged stores, of which the readable part was taken */
	size_t other_version; /* stores that another version of iolens made: of these the counters alone */
	size_t lost;          /* stores that could not be read at all */
	int64_t signal;       /* that ended the command, 0 = none known */
	char unwritten[4096]; /* the log that could not be written; "" = none, or not even the first was begun */
};

struct assemble_job {
	struct epoch epoch; /* realtime 0: as the stores tell */
	int64_t id;         /* 0: the first image's */
	int64_t ended;      /* ns since 1970; 0 = the latest end known */
	const struct assemble_phase *phases;
	size_t nphases;
	const char *first;  /* the store that packs were made against; NULL = no packs */
	const char *second; /* the one that the first store\'s was; NULL = it has none */
	const char *own;    /* the store of this process, NULL = none: */
	const void *memory; /* where it is in memory */
	size_t size;
	bool durable;                 /* logs are on disk when they are written: the stores may go */
	int64_t deadline;             /* ns, monotonic clock: when to give up; 0 = never */
	int64_t command;              /* pid of the command, 0 = not known; */
	int status;                   /* how it ended, as of waitpid */
	const int64_t *command_io;    /* the kernel's counts of it then (STATE_IO_), NULL = not known */
	double command_used;          /* s of a processor, with all that it waited for; 0 = not known */
	struct assemble_found *found; /* may be NULL */
	/* linked_in, where the time and memory for a look at each program's symbols are not those of an observed process; or NULL. */
	unsigned (*linked_in)(const char *program);
	void (*wrote)(void *context, const char *path); /* called for every log; may be NULL */
	/* Called before each store: what it is read for, a constant, and which one of how many it is, from 0. May be NULL. */
	void (*reads)(void *context, const char *step, size_t store, size_t stores);
	void *context;
};

/*
 * `path` names the log of the one world, or of the processes where there is none. Other logs of the same stores are beside it:
 * with several worlds x.darshan is the first, x-mpi2.darshan, ... are the others, and x-serial.darshan is the rest.
 * Return the number of images, or a negative code.
 */
int assemble_directory(const struct assemble_job *job, const char *directory, const char *path, struct log_error *err);
int assemble_stores(const struct assemble_job *job, const char *const *stores, size_t n, const char *path,
		    struct log_error *err);

/* The name of the n-th log, from 0, that `path` gives; `mpi`: of a world, else of the rest. */
void assemble_name(char *out, size_t room, const char *path, size_t n, bool mpi);

/* One store in memory: a process writes its own log. */
int assemble_memory(const struct assemble_job *job, const void *store, size_t size, const char *path,
		    struct log_error *err);

/* What precompressed.h makes ahead of a store, for the trace of a rank's own store in memory: trace_reader.h reads it. */
int traces_ahead_make(const void *store, size_t size, int64_t rank, const char *path, struct log_error *err);

#endif
