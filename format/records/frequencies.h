/*
 * Values and how often each occurred, for tables that show the four most frequent: what all operands have is merged before
 * four are chosen, so that the result does not depend on their order. Memory is bounded: beyond `most` values the half
 * that occurred least is dropped, and counts of what comes back are lower bounds.
 */
#ifndef IOLENS_FREQUENCIES_H
#define IOLENS_FREQUENCIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMMON_SHOWN = 4 };

struct common_value {
	int64_t value, count; /* value 0 = a free slot: it is never shown */
};

struct common {
	uint32_t most, used;
	size_t size; /* of the table, a power of two */
	bool bound;  /* some values were dropped */
	struct common_value *slot;
};

/* NULL when there is no memory. */
struct common *common_make(uint32_t most);

/* 0 or LOG_E_MEMORY. A value or count of 0 is nothing. */
int common_add(struct common *c, int64_t value, int64_t count);
int common_add_all(struct common *c, const struct common *more);

/* Inserts into a list of at most `room` in order, the most frequent first. */
void common_rank(struct common_value *list, int *n, int room, struct common_value v);

/* The most frequent ones, then zeros. */
void common_show(const struct common *c, struct common_value shown[COMMON_SHOWN]);

void common_free(struct common *c);

#endif
