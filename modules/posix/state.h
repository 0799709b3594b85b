/* What the POSIX module keeps in memory in addition to the records: never stored. */
#ifndef IOLENS_POSIX_STATE_H
#define IOLENS_POSIX_STATE_H

#include <fcntl.h>

#include "file.h"
#include "fds.h"
#include "frequent.h"

#define POSIX_NONE INT64_MIN

/* More than one thread moves the cursor. */
#define POSIX_SEVERAL 1

/*
 * O_APPEND makes even pwrite write at the end. POSIX_ASKED: another process may set it or take it away: the kernel is asked.
 * POSIX_SHARED: with another process: only the kernel knows the offset.
 */
enum posix_mark { POSIX_APPENDS = 1, POSIX_ASKED = 2, POSIX_SHARED = 4 };

/* A file: one per record. Two cache lines. */
struct posix_file {
	FILE_HEAD(struct posix_record);
	int64_t usual;                   /* bytes of the most frequent access; POSIX_NONE = none yet */
	int8_t usual_class;              /* of their size (sizes.h) */
	int8_t last_op;                  /* of the last access, -1 = none yet */
	bool divides;                    /* an alignment is no power of two: no access is usual */
	uint32_t memory_mask, file_mask; /* what is in an address and an offset that are aligned is 0 */
	struct frequent access;
	struct frequent stride;
};

_Static_assert(sizeof(struct posix_file) <= 128, "many files have room in the memory of few");

/*
 * An open file description: what dup shares and a second open does not. Its file and name always are some file's, and change only
 * while it has no references, or from what files without a record share to one of its own (posix_open_weigh): a thread reads the
 * file once, takes its lock, and counts there. References are atomic and rise from 1 on only. `offset` and `last` are atomic words
 * that the thread named by `by` moves without the file's lock, all others under it. `marks` is atomic: any thread sets bits of enum
 * posix_mark, and reads them without order. `next_free` is the list's, under its lock.
 */
struct posix_open {
	struct fds_open head;
	struct posix_file *file;
	int64_t offset;
	int64_t last[2]; /* last byte read, written */
	uint32_t references;
	uint8_t marks;
	bool forced; /* O_SYNC or O_DSYNC: a write takes until its data is on storage. Set before the first access */
	uint64_t by; /* the thread that moves the cursor, while this process has several; 0 = none yet */
	uint64_t weight; /* of accesses while its file has no record of its own (file_weigh); atomic */
	struct posix_open *next_free;
};

/* The file's state, its record made if need be; NULL when the module is off. */
struct posix_file *posix_file_of(const struct path *p);

/* The same for a path as a program gave it; NULL and a class for one that has no record, NULL and none for what is no path. Inside self_enter. */
struct posix_file *posix_file_at(int dir, const char *path, enum state_class_id *class);

/* The state of a file that already has a record, or NULL. */
struct posix_file *posix_file_known(const struct path *p);

/* The class of what is not excluded, and yet has no record. */
enum state_class_id posix_without_record(void);

/* An access of a file without a record of its own: a heavy one gets one. Holds the lock of what it shares. */
void posix_open_weigh(struct posix_open *o, struct posix_file *shared, int64_t moved);

/* A description with one reference, and its descriptor's entry. */
struct posix_open *posix_open_make(struct posix_file *f);

/* What the descriptor's was opened with, or set to since; 0 = it cannot be asked. */
int posix_flags_of(int fd);

static inline unsigned posix_marks(const struct posix_open *o)
{
	return __atomic_load_n(&o->marks, __ATOMIC_RELAXED);
}

static inline void posix_mark(struct posix_open *o, enum posix_mark marks)
{
	__atomic_fetch_or(&o->marks, (uint8_t)marks, __ATOMIC_RELAXED);
}

/* The append flag has changed. */
void posix_open_append(struct posix_open *o, bool appends);

/* What a new one was opened with. */
void posix_open_set_flags(struct posix_open *o, int flags);
static inline void posix_open_flags(struct posix_open *o, int flags)
{
	if (__builtin_expect(flags & (O_APPEND | O_DSYNC), 0))
		posix_open_set_flags(o, flags);
}

/*
 * One reference more of what the entry of `fd` said: without references it may become another open. Returns the entry; 0 where that
 * is no longer the descriptor's, or (fd -1: it is not looked at) has no references. And one less.
 */
uintptr_t posix_open_hold(uintptr_t at, int fd);
void posix_open_release(uintptr_t at);

/* Another process has it, too. */
void posix_open_share(struct posix_open *o);

/* A fork: all descriptions are shared from now on; in the child, no thread has one that was closed. */
void posix_opens_share(void);
void posix_opens_forget(void);

/* The descriptor's open file description, NULL if it has none. */
static inline struct posix_open *posix_open_of(struct span s)
{
	return span_tracked(s) ? (struct posix_open *)s.at : NULL;
}

#endif
