/*
 * Texts that every reader of a trailer knows, so that they are stored as numbers. The list belongs to the format: words are
 * only added to its end, with a new version. A text that is not among them is stored as it is.
 */
#ifndef IOLENS_DICTIONARY_H
#define IOLENS_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

enum { DICTIONARY_WORDS = 578 };
#define DICTIONARY_NONE UINT64_MAX

struct word {
	const char *at; /* not ended by NUL */
	size_t length;
};

/* .at = NULL: there is no word of that number. */
struct word dictionary_at(uint64_t number);

/* Number of a word, looked for from `first` on and then from the beginning; DICTIONARY_NONE: it is none. */
uint64_t dictionary_find(struct word wanted, uint64_t first);

#endif
