/*
 * Files without a record of their own: what they share one with, and which of them are heavy enough for one after all
 * (docs/decisions/0051). All inside names_lock.
 */
#ifndef IOLENS_FOLDED_H
#define IOLENS_FOLDED_H

#include "names.h"
#include "overflow.h"

/* A file of an interpreter, a package or a library: there may be hundreds of thousands, each used once. */
bool folded_is_program(const struct path *p);

/* What a path's record is for. Its letters are looked at only where the answer matters. */
static inline enum store_use folded_use(const struct path *p)
{
	return __builtin_expect(store_is_narrow(), 0) && folded_is_program(p) ? STORE_PROGRAM : STORE_DATA;
}

/* One more open of a file without a record: it is counted, and the module is marked partial. */
void folded_count(int module, const struct path *p, enum store_use use);

/* Such a file has been opened so often that it gets a record. To be asked at each open. */
bool folded_is_heavy(const struct path *p);

/* So many accesses by one open do the same. */
uint32_t folded_threshold(void);

/* The entry that a program's file shares with others of its package, or NULL. */
struct name *folded_package(const struct path *p);

/* The entry that files of one mount share; NULL: there is no memory. */
struct name *folded_mount(const struct path *p, enum store_use use);

void folded_reset(void);

#endif
