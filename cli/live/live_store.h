/*
 * What the store of a running process says at a moment. Its file is read, never mapped: a read of a page that is not there takes
 * no memory, and a file that becomes shorter is an error and no signal. Nothing is locked and nothing is written: the process
 * cannot know that it is looked at.
 *
 * The process goes on counting meanwhile. Counters are words of 8 bytes that are copied whole and only grow; regions grow at
 * their end, and their lengths after what is in them. So two counters of a record may be an operation apart, and no more.
 */
#ifndef IOLENS_LIVE_STORE_H
#define IOLENS_LIVE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "log.h"
#include "process_state.h"

struct live_counts {
	int64_t calls[2], bytes[2]; /* by io_op: read, write */
	int64_t opens;
	double time[IO_OPS]; /* s, of calls that are over */
};

/* Of a file, by one interface. */
struct live_record {
	uint64_t id;
	int64_t size; /* bytes: highest offset seen + 1 */
	struct live_counts counts;
};

struct live_store {
	char *path;
	uid_t owner;
	bool here;   /* in the memory of this machine: its process is one of ours, whatever its host is called */
	int64_t job; /* the scheduler's number, or that of a process */
	int64_t pid; /* as its node numbers it; 0 = it does not run, or unknown */
	char state;  /* of the kernel: R, S, D, T, ...; 0 = it does not run, or unknown */
	char command[256];
	struct state_process process;
	double last; /* s since the job's start: the latest end of a call */
	int threads;
	struct live_counts interface[WRITTEN_COUNT];
	int64_t sizes[2][STATE_SIZES]; /* accesses of files by size class, by io_op */
	struct state_operation operation[STATE_OP_COUNT];
	struct state_class class[STATE_CLASS_COUNT];
	struct state_heat heat;                     /* of the interfaces that reach the operating system */
	struct live_record *records[WRITTEN_COUNT]; /* in the order in which they were made, which stays */
	size_t nrecords[WRITTEN_COUNT];
};

/* Names of files by their ids; the same for all stores, and kept from look to look. */
struct live_names;
struct live_names *live_names_make(void);
void live_names_free(struct live_names *n);
const char *live_name(const struct live_names *n, uint64_t id);        /* NULL = not known */
const char *live_file_system(const struct live_names *n, uint64_t id); /* its type; "" = not known */
/* In the order in which they were learnt. */
size_t live_names_count(const struct live_names *n);
const char *live_names_at(const struct live_names *n, size_t number, uint64_t *id, const char **file_system);
void live_names_learn(struct live_names *n, uint64_t id, const char *name, const char *file_system);

/* 0, or a negative code: no store (yet), or of another version. */
int live_store_read(struct live_store *s, const char *path, struct live_names *names, struct log_error *err);
void live_store_free(struct live_store *s);

void live_counts_add(struct live_counts *to, const struct live_counts *from);
/* What came after `before`; what a torn reading makes less is 0. */
struct live_counts live_counts_since(const struct live_counts *now, const struct live_counts *before);

/* Began, s since 1970: what times in the store count from. */
double live_store_epoch(const struct live_store *s);

#endif
