/*
 * The trace of a process as its store keeps it: chunks, each of one file and one interface, behind each other. A chunk stands
 * for itself: what its items say is relative to the item before, and to nothing at its beginning.
 *
 * An item is a tag and what the tag says is there. A regular access takes three bytes: tag, gap and duration.
 *
 *	bit 0       enum io_op: read, write
 *	bits 1, 2   enum trace_offset; a long one is followed by four or eight bytes
 *	bit 3       the length is another one than that of the last access of the kind: LEB128 follows
 *	bits 4, 5   the time from the end of the last access to the start of this one: 1, 2 or 4 bytes, zigzag;
 *	            TRACE_SPECIAL = no access: bit 0 tells whether a thread (2 bytes) or a time (8 bytes) follows
 *	bits 6, 7   the duration: 1, 2, 4 or 8 bytes
 *
 * Bytes follow in the order length, offset, gap, duration. Numbers are little-endian.
 */
#ifndef IOLENS_TRACE_CHUNK_H
#define IOLENS_TRACE_CHUNK_H

#include <stdint.h>

#include "accesses.h"
#include "written.h"

#define TRACE_RATE ACCESS_RATE

enum { TRACE_ALIGN = 64, TRACE_LEAST = 256, TRACE_MOST = 8192, TRACE_ITEM_MOST = 56 };

enum trace_offset {
	TRACE_CONSECUTIVE, /* where the last access of the kind ended */
	TRACE_STRIDE,      /* as far from the last one of the kind as that was from the one before */
	TRACE_NEAR,        /* int32 from where the last one ended */
	TRACE_ANYWHERE     /* int64 */
};

enum {
	TRACE_OFFSET_AT = 1,
	TRACE_LENGTH = 1 << 3,
	TRACE_GAP_AT = 4,
	TRACE_SPECIAL = 3 << TRACE_GAP_AT,
	TRACE_DURATION_AT = 6
};

enum trace_special { TRACE_THREAD, TRACE_TIME };

struct trace_chunk {
	uint32_t size;      /* bytes with this head, a multiple of TRACE_ALIGN; 0 = there are no more */
	uint32_t used;      /* bytes of whole items */
	uint64_t file;      /* its id */
	uint32_t sequence;  /* of the chunks of that file and interface */
	uint16_t interface; /* enum trace_interface */
	uint16_t thread;    /* of the first item, until one says otherwise */
	int64_t began;      /* ticks since the job's start: what the first gap counts from */
};

_Static_assert(sizeof(struct trace_chunk) == 32, "head of a chunk");

#define TRACE_SECTION "trace" /* of the store's trailer: nothing but chunks */

/* What is known of the accesses of one kind before an item. */
struct trace_pattern {
	int64_t at, end, stride, length;
};

#endif
