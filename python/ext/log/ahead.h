/*
 * The fast way to a module's records: its region unpacked in pieces, by a second thread ahead of who takes the records. Only for
 * regions that are sound and stored as they are used; everything else (damage, old versions, the other byte order,
 * bzip2) goes the way of log_records_next, and so do the records from where this one gives up.
 */
#ifndef IOLENS_AHEAD_H
#define IOLENS_AHEAD_H

#include "handle.h"

struct ahead;

/* NULL = not to be had this way. thread: a second one may help. */
struct ahead *ahead_open(struct handle *h, int module, bool thread);
void ahead_close(struct ahead *a);

/* Between these a second thread may unpack; there is none outside. */
void ahead_start(struct ahead *a);
void ahead_stop(struct ahead *a);

/* 1 to n records one behind the other, 0 at the end, -1 where it gives up. The last ones stay until the next call. */
int64_t ahead_next(struct ahead *a, int64_t n, const uint8_t **records);

#endif
