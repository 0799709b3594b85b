/* What the POSIX module keeps in memory beside the records: never stored. */
#ifndef IOLENS_POSIX_STATE_H
#define IOLENS_POSIX_STATE_H

#include "fds.h"
#include "frequent.h"
#include "lock.h"
#include "names.h"
#include "records.h"

/* A file: one per record. */
struct posix_file {
	struct name *name;
	struct posix_record *record;
	struct lock lock;         /* guards the record and the fields below */
	int last_kind;            /* of the last access, -1 = none yet */
	double ended[LIVE_KINDS]; /* end of the latest operation by kind: overlapping ones count once */
	struct frequent access;
	struct frequent stride;
};

/* An open file description: what dup shares and a second open does not. */
struct posix_open {
	struct fds_open head;
	struct posix_file *file;
	int64_t offset;
	int64_t last[2]; /* last byte read, written */
	uint32_t references;
	bool append;
	bool shared; /* with another process: only the kernel knows the offset */
	struct posix_open *next_free;
};

/* The file's state, its record made if need be; NULL when the module is off. */
struct posix_file *posix_file_of(const struct path *p);

/* The same for a path as a program gave it; NULL and a class for one that has no record, NULL and none for what is no path. Inside self_enter. */
struct posix_file *posix_file_at(int dir, const char *path, enum live_class_id *class);

/* The state of a file that already has a record, or NULL. */
struct posix_file *posix_file_known(const struct path *p);

/* A description with one reference, and its descriptor's entry. */
struct posix_open *posix_open_make(struct posix_file *f);

/* The descriptor's open file description, NULL if it has none. */
static inline struct posix_open *posix_open_of(struct span s)
{
	return span_tracked(s) ? (struct posix_open *)s.at : NULL;
}

/* Adds [start, end] to one of the record's timers, what overlaps with earlier operations only once. */
void posix_time(struct posix_file *f, enum live_kind kind, double start, double end);

/* Counts an operation by name in the thread's shard. Inside self_enter. */
void posix_count_operation(enum live_operation_id operation, bool failed, int64_t bytes, double start, double end);

#endif
