/*
 * Texts that every reader of a trailer knows, so that they are stored as numbers. The list belongs to the format: words are
 * only added to its end, with a new version. A text that is not among them is stored as it is.
 */
#ifndef IOLENS_DICTIONARY_H
#define IOLENS_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

enum { DICTIONARY_WORDS = 578, DICTIONARY_KINDS = 256 };
#define DICTIONARY_NONE UINT64_MAX

struct dictionary {
	uint16_t begin[DICTIONARY_WORDS + 1];
	uint16_t
		first[DICTIONARY_KINDS]; /* the first word with such ends and such a length; its number + 1, 0 = none */
	uint16_t next[DICTIONARY_WORDS]; /* the next one like it */
};

struct word {
	const char *at; /* not ended by NUL */
	size_t length;
};

/* `room` is for what another thread is still working out. */
const struct dictionary *dictionary_all(struct dictionary *room);

/* .at = NULL: there is no word of that number. */
struct word dictionary_at(const struct dictionary *w, uint64_t number);

/* Number of a word, looked for from `first` on and then from the beginning; DICTIONARY_NONE: it is none. */
uint64_t dictionary_find(const struct dictionary *w, struct word wanted, uint64_t first);

#endif
