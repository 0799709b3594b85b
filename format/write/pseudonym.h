/*
 * Pseudonyms for anonymized logs: keyed, so that without the key names cannot be tried out, and stable, so that
 * logs anonymized with one key can be compared. SipHash-2-4 (Aumasson and Bernstein, 2012).
 */
#ifndef IOLENS_PSEUDONYM_H
#define IOLENS_PSEUDONYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Random bytes, or what a memory-hard function makes of a passphrase: each log holds names that are known, to try keys on. */
struct pseudonym_key {
	uint64_t k[2];
};

enum { PSEUDONYM_TEXT = 9 }; /* eight letters and digits, and the NUL */

uint64_t pseudonym_number(const struct pseudonym_key *key, const void *data, size_t n);

void pseudonym_text(const struct pseudonym_key *key, const char *text, size_t n, char out[PSEUDONYM_TEXT]);

/* Names that iolens and Darshan give themselves (`<STDIN>`, `heatmap:POSIX`), and the empty one. */
bool pseudonym_is_own(const char *text, size_t n);

/*
 * Every component of a name (between `/`, and `:` as between a file and its dataset) by its pseudonym; the separators
 * stay, and so do names of our own. `keep` bytes at the front (a mount point) are left alone. Returns the length, 0 when it does not fit.
 */
size_t pseudonym_name(const struct pseudonym_key *key, const char *name, size_t keep, char *out, size_t room);

#endif
