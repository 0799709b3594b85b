#include "dictionary.h"

#include <string.h>

#include "dictionary_words.h"

/*
 * The list is dictionary.words, one a line, numbered from 0: first the schemas of our tables, each behind its name, then what
 * often stands in their fields. Those behind localhost are of version 3, those behind vmsplice of version 4, those
 * behind ro,nosuid,nodev,noexec,relatime of version 6. tools/words.py makes tables of it.
 */

static uint32_t kind_of(struct word w)
{
	uint8_t first = w.length ? (uint8_t)w.at[0] : 0, last = w.length ? (uint8_t)w.at[w.length - 1] : 0;
	return (first * 37u + last * 11u + (uint32_t)w.length * 101u) % KINDS;
}

struct word dictionary_at(uint64_t number)
{
	if (number >= DICTIONARY_WORDS)
		return (struct word){0};
	return (struct word){words + begins[number], (size_t)(begins[number + 1] - begins[number] - 1)};
}

uint64_t dictionary_find(struct word wanted, uint64_t first)
{
	uint64_t found = DICTIONARY_NONE;
	for (uint64_t next = first_like[kind_of(wanted)]; next; next = next_like[next - 1]) {
		struct word one = dictionary_at(next - 1);
		if (one.length != wanted.length || memcmp(one.at, wanted.at, wanted.length) != 0)
			continue;
		if (next - 1 >= first)
			return next - 1;
		found = found == DICTIONARY_NONE ? next - 1 : found;
	}
	return found;
}
