/*
 * Texts that every reader of a trailer knows, so that they are stored as numbers. The list belongs to the format: it never
 * changes. A text that is not among them is stored as it is.
 */
#ifndef IOLENS_WORDS_H
#define IOLENS_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { WORDS = 265, WORDS_KINDS = 1024 };
#define WORDS_NONE UINT64_MAX

struct words {
	uint16_t begin[WORDS + 1];
	uint64_t kinds[WORDS_KINDS / 64]; /* bits: some word has such ends and such a length */
};

struct word {
	const char *at; /* not ended by NUL */
	size_t length;
};

/* `room` is for what another thread is still working out. */
const struct words *words_all(struct words *room);

/* .at = NULL: there is no word of that number. */
struct word words_at(const struct words *w, uint64_t number);

/* Number of a word, looked for from `first` on and then from the beginning; WORDS_NONE: it is none. */
uint64_t words_find(const struct words *w, struct word wanted, uint64_t first);

#endif
