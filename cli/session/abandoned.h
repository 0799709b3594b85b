/*
 * Sessions whose `iolens run` was killed. Who runs one holds a lock on its directory; who finds a directory of ours that
 * is not held, and no process that still writes into it, makes the log and removes it.
 */
#ifndef IOLENS_ABANDONED_H
#define IOLENS_ABANDONED_H

#include <stddef.h>

struct abandoned_found {
	size_t logs; /* sessions of which a log was made */
	size_t kept; /* sessions that were left alone: still running, or not writable: named on standard error */
};

/* How many stores may be assembled at once: what was asked for, and what may be done beside another job. */
enum { LEFTOVER_ALL = 1 << 30, LEFTOVER_FEW = 100 };

/* `wrote` is called for every log. `command` begins the messages, NULL = none. Sessions with more than `most` stores are kept. */
struct abandoned_found abandoned_collect(const char *command, void (*wrote)(void *, const char *), size_t most);

#endif
