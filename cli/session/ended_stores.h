/*
 * Stores of processes that have ended, while the job goes on. In memory each is 60 KiB and more, of which a job of many processes
 * has no end. A thread of `iolens run` packs them into a bundle (bundle.h), and moves that to a disk when it grows.
 *
 * A store is removed when the bundle has it, and a part of a bundle when the disk has it: killed in between, `iolens run` leaves a
 * process twice, which the assembly sees.
 */
#ifndef IOLENS_ENDED_STORES_H
#define IOLENS_ENDED_STORES_H

#include "session_dir.h"

/* Begins; where there can be no thread, stores stay what they are. */
void ended_stores_begin(const struct session_dir *s);

/* Ends after the store that is being packed. */
void ended_stores_end(void);

#endif
