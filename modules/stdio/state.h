/* What the STDIO module keeps in memory in addition to the records: never stored. */
#ifndef IOLENS_STDIO_STATE_H
#define IOLENS_STDIO_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fds.h"
#include "file.h"
#include "process_state.h"

/* A file: one per record. */
struct stdio_file {
	FILE_HEAD(struct stdio_record);
	double first[2];  /* start of the first access by kind */
	double latest[2]; /* end of the latest */
	double due[2];    /* when the record's stamps must have that end */
};

/* A stream that the program opened, or was born with. */
struct stdio_stream {
	struct stdio_file *file; /* NULL: only counted, by class */
	enum state_class_id class;
	int fd;
	int32_t until_timed; /* calls that the buffer serves until one of them is timed */
	int64_t offset;      /* of the next byte */
	/* From here to `item`: 0 in a new one. */
	const char *seen[2]; /* libc's position in the buffer, by kind, after the last call that we saw */
	bool asks;           /* only libc knows where a write went: append mode, or shared with another process */
	bool attention;      /* one of the next three, or `inherited`; atomic: a thread that forks sets it */
	bool moved;          /* perhaps, by others: the next call first asks libc for its position */
	bool inlined;        /* the program moves characters without a call: getc_unlocked and putc_unlocked */
	bool replaced;       /* its descriptor has become something else */
	bool by_descriptor;  /* it is what its descriptor is: a standard stream, or one that was replaced */
	uint8_t close;       /* calls one after the other that the buffer served and that followed each other closely */
	uint8_t unclocked;   /* calls to come that take no clock at all */
	const char
		*inherited; /* not used yet by this process: <STDOUT> and its like, or the file's name in the parent */
	double clocked;     /* s: the last call that read the clock */
	uint64_t weight;    /* of accesses that read the clock, while its file has no record of its own (heavy.c) */
	size_t item;        /* bytes of each, of a read that got fewer than requested, while it is counted */
	struct stdio_stream *next_free;
};

/* The file's state, its record made if need be; NULL when there is no memory. */
struct stdio_file *stdio_file_of(const struct path *p);

/* The file that a descriptor has, which no stream was opened by: it counts no open. NULL and a class where it gets no record. */
struct stdio_file *stdio_file_given(const FILE *f, enum state_class_id *class);

/*
 * The file of a path that was opened for the first time, and of one that leads to an open file; NULL and a class where it gets no
 * record, NULL and none for what is no path. A named pipe gets none. Inside self_enter.
 */
struct stdio_file *stdio_file_new(int fd, const char *path, enum state_class_id *class);
struct stdio_file *stdio_file_behind(int fd, enum state_class_id *class);

/* One more access of a stream whose file shares a record: after many, it gets one. Holds the lock of what it shares. */
void stdio_weigh(struct stdio_stream *t, struct stdio_file *shared, const FILE *f);

/* ---- the table of streams ---- */

struct stdio_slot {
	FILE *key;                   /* NULL = free for ever so far: the end of every search that comes by */
	struct stdio_stream *stream; /* NULL under a key = closed */
};

struct stdio_table {
	unsigned shift; /* 64 - log2 of the number of slots */
	size_t mask;
	struct stdio_slot slot[];
};

extern struct stdio_table *stdio_table __attribute__((visibility("hidden")));

static inline size_t stdio_home(const struct stdio_table *t, const FILE *f)
{
	return (size_t)((uint64_t)(uintptr_t)f * UINT64_C(0x9e3779b97f4a7c15) >> t->shift);
}

/*
 * The stream's state or NULL. Without a lock: a program that uses a stream has seen it opened, and a
 * program that closes it while another thread uses it is wrong by itself.
 */
static inline struct stdio_stream *stdio_stream_of(FILE *f)
{
	const struct stdio_table *t = __atomic_load_n(&stdio_table, __ATOMIC_ACQUIRE);
	for (size_t i = stdio_home(t, f);; i = (i + 1) & t->mask) {
		FILE *key = __atomic_load_n(&t->slot[i].key, __ATOMIC_ACQUIRE);
		if (key == f)
			return t->slot[i].stream;
		if (!key)
			return NULL;
	}
}

/*
 * Puts a stream in place of what was known by this key, which is returned; NULL takes it out. What is not in the table
 * afterwards, for want of room, is not recorded.
 */
struct stdio_stream *stdio_table_set(FILE *f, struct stdio_stream *stream);

/* ---- streams by their descriptors ---- */

enum { STDIO_NUMBERS = 256 };

/*
 * By descriptor modulo STDIO_NUMBERS: a stream; STDIO_SEVERAL: any may be of that number. Not the three that every program is born
 * with. Without a lock: where threads open and close streams of one place at once, a stream may be left out.
 */
extern FILE *stdio_numbered[STDIO_NUMBERS] __attribute__((visibility("hidden")));
#define STDIO_SEVERAL ((FILE *)1)

static inline FILE **stdio_place(int fd)
{
	return &stdio_numbered[(unsigned)fd % STDIO_NUMBERS];
}

static inline void stdio_number(FILE *f, int fd)
{
	FILE **place = stdio_place(fd);
	__atomic_store_n(place, __atomic_load_n(place, __ATOMIC_RELAXED) ? STDIO_SEVERAL : f, __ATOMIC_RELEASE);
	if (__builtin_expect((unsigned)fd >= __atomic_load_n(&fds_stream_end, __ATOMIC_RELAXED), 0))
		__atomic_store_n(&fds_stream_end, (unsigned)fd + 1, __ATOMIC_RELEASE);
}

static inline void stdio_unnumber(const FILE *f, int fd)
{
	FILE **place = stdio_place(fd);
	if (__atomic_load_n(place, __ATOMIC_RELAXED) == f)
		__atomic_store_n(place, NULL, __ATOMIC_RELAXED);
}

/* Calls `change` for the streams of a descriptor. Those for which it returns true are no longer found by it. */
void stdio_changed(int fd, bool (*change)(struct stdio_stream *t, FILE *f));

#endif
