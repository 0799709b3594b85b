/*
 * Who waits in which call on which file. Nothing is written down when a call begins, so the kernel is asked: /proc has the system
 * call of each thread, its arguments, and what its descriptors are. None of that asks a file system: one that has stopped answering
 * holds up the job, not us. Only names that calls were given are in the job's memory, which is read by a process of its own that
 * may hang instead.
 */
#ifndef IOLENS_LIVE_CALLS_H
#define IOLENS_LIVE_CALLS_H

#include "live_job.h"

struct live_call {
	const struct live_process *process;
	int64_t thread;
	char state;  /* R, S, D, T */
	long number; /* of the system call; -1 = in none: an access to a mapped page; -2 = the kernel does not tell */
	uint64_t arguments[4];
	uint64_t stack;
	uint64_t switches; /* how often the thread gave up its processor */
	const char *name;  /* write; "page fault"; "" = not known */
	int descriptor;    /* -1 = the call has none */
	bool has_path;     /* its name is in the job's memory */
	char file[1024];   /* "" = not known */
	char waits_in[64]; /* the kernel's function; "" = not told */
	double slept;      /* s since the thread last ran, as the scheduler tells; below 0: it does not */
	char mount[256], source[256], file_system[32]; /* that the file is on; "" = not known */
};

struct live_calls {
	struct live_call *calls;
	size_t n;
	size_t threads; /* looked at */
	size_t denied;  /* of those the kernel does not tell the call: not permitted */
};

/* Threads of the job's processes on this node that wait in a call on a file, or that cannot be told where. False: no memory. */
bool live_calls_find(struct live_calls *c, const struct live_job *j);
void live_calls_free(struct live_calls *c);

#endif
