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

#include "live.h"

/* Makes the store `name` in the open directory `dir`; in a forked child at the address of the parent's. */
bool store_make(int dir, const char *name, size_t budget);

/*
 * A zeroed record of a module with its id set, or NULL when the budget or the limit of its module is used up. A few reserved ones
 * (for what all folded files share) are not held against the budget.
 */
void *store_record(int module, size_t size, uint64_t id, bool reserved);

/* Appends a name; returns its copy in the store, or NULL when the budget is used up. */
const char *store_name(uint64_t id, const char *name, size_t length, bool reserved);

/* Marks a module as incomplete: some of its files are folded. */
void store_partial(int module);

/* Fills the job region: user, start (ns since 1970), job id, version note, command line. */
void store_job(int64_t uid, int64_t started, int64_t job, const char *command);

/* Appends one mount entry to the job region. */
void store_mount(const char *type, const char *point);

/* Takes back everything that was recorded, and records no more. */
void store_forget(void);

bool store_touch(const void *at, size_t n);
struct live *store_live(void);
const void *store_image(size_t *size);

/* Of names and records. */
size_t store_bytes(void);

#endif
