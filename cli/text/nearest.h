/* The name that was probably meant. */
#ifndef IOLENS_NEAREST_H
#define IOLENS_NEAREST_H

#include <stddef.h>

/*
 * Insertions, deletions, replacements and swaps of neighbouring letters that make one word of the other, whatever the
 * case of letters; `bound` + 1 where more than `bound` are needed. Words longer than 64 bytes are never near.
 */
int nearest_distance(const char *a, const char *b, int bound);

/*
 * The nearest of the names that `name(context, i)` gives until NULL, each valid until the next; NULL = none differs by a
 * third of its letters or less.
 */
const char *nearest(const char *word, const char *(*name)(const void *context, size_t i), const void *context);

enum { NEAREST_HINT = 96 };

/* "did you mean NAME?", or `otherwise` where none is near. */
const char *nearest_hint(char hint[NEAREST_HINT], const char *word, const char *(*name)(const void *context, size_t i),
			 const void *context, const char *otherwise);

#endif
