/*
 * The store: this process's records in one file-backed mapping that is an uncompressed Darshan log
 * from its first moment (docs/architecture.md). Whatever ends the process, what is in it stays.
 *
 * The budget counts the bytes of records and names. Pages are touched through the kernel before they
 * are used, so that a full file system makes store_record fail instead of killing the program.
 */
#ifndef IOLENS_STORE_H
#define IOLENS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process_state.h"
#include "store_layout.h"

/*
 * Makes the store `path` in its open directory `dir`, or takes what was laid down there; in a forked child at the addresses of the
 * parent's. What path points to is kept: the caller changes it when the store moves.
 */
bool store_make(int dir, const char *path, const struct store_room *room, const struct store_owner *owner,
		bool laid_down);

/*
 * What a record or a name is for: how much of the budget may be used up, with it. Files of programs leave half to data; files that
 * are used once leave an eighth to those that turn out to be heavy. A few that all folded files share are not held against it.
 */
enum store_use { STORE_PROGRAM, STORE_DATA, STORE_HEAVY, STORE_SHARED };

/* Whether a file of a program may find no room where one of data does. No lock. */
bool store_is_narrow(void);

/* What is left for heavy files, as a power of two: all of it = 0, less than half 1, less than a quarter 2, ... No lock. */
unsigned store_heavy_halvings(void);

/* A zeroed record of a module with its id set, or NULL when the budget or the limit of the module is used up. */
void *store_record(enum written slot, uint64_t id, enum store_use use);

/*
 * A record with arrays behind it, of a module that has such: nothing else is to be written behind it. It is filled before a reader
 * of the store can see it.
 */
typedef void store_fill(void *record, const void *context);
void *store_record_filled(enum written slot, uint64_t id, size_t size, store_fill *fill, const void *context);

/* Appends a name; returns its copy in the store, or NULL when the budget is used up. */
const char *store_name(uint64_t id, const char *name, size_t length, enum store_use use);

/* Zeroed room for a chunk of the trace, of at most TRACE_MOST bytes; NULL when there is none left. */
void *store_trace(size_t n);
/* The n bytes that were handed out the longest time ago, all in pieces of n. */
void *store_trace_again(size_t n);

/* Appends an entry to the sites (process_state.h); returns its copy in the store, NULL when there is no room. */
void *store_site(const void *entry, size_t n);

/* What the thread of a shard counts of MPI communication; NULL when there is no room for it. */
struct state_communication *store_communication(const struct state_shard *shard);

/* Marks a module as incomplete: some of its files are folded. */
void store_partial(int module);

/* Appends one mount entry to the job region. */
void store_mount(const char *type, const char *point);

/* Takes back everything that was recorded, and records no more. */
void store_forget(void);

/* Makes the pages of so many files' records exist, of interfaces that are not rare, and of as many names. */
void store_reserve(int files, size_t name);

bool store_touch(const void *at, size_t n);
/* Makes the pages of a part of the state's `optional` exist, if they do not yet. */
bool store_touch_optional(enum state_optional_part part, const void *at, size_t n);
/* The same for a row of `folded` there, which grows. */
bool store_touch_folded(const void *at, size_t n);
struct process_state *store_state(void);

/* A counter of this store, for a forked child: where it can still be reached when the child's own store takes its place. */
int64_t *store_hold(int64_t *counter);
void store_let_go(int64_t *counter);
const void *store_memory(size_t *size);

/* Of names and records. */
size_t store_bytes(void);

#endif
