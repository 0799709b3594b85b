/*
 * The node's time zone, read from its file (RFC 9636). The C library does it under a lock that a child forked from a threaded process may
 * find held for ever, as may a handler that calls _exit, and takes memory for it.
 */
#ifndef IOLENS_ZONE_H
#define IOLENS_ZONE_H

#include <stddef.h>
#include <stdint.h>

/* Seconds to the east of UTC at `at`, seconds since 1970, by n bytes of such a file; 0 where they are none. */
int64_t zone_offset(const uint8_t *file, size_t n, int64_t at);

#endif
