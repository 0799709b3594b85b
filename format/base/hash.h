/* Record ids: a 64-bit hash of the name, the same in every Darshan log. Safe in signal handlers. */
#ifndef IOLENS_HASH_H
#define IOLENS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Jenkins' 64-bit hash (lookup8) of n bytes. */
uint64_t log_hash(const void *key, size_t n, uint64_t level);

/* Id of a named record: the hash of the name at level 0. */
uint64_t log_id(const char *name);

/*
 * The form of a path that is hashed: absolute, without `//` and `/./`; links, `..` and a trailing slash stay.
 * Names that begin with `<` are taken literally. cwd may be NULL when path is absolute.
 * Writes at most room bytes with the NUL and returns the length, or 0 when it does not fit.
 */
size_t log_clean_path(const char *cwd, const char *path, char *out, size_t room);

#endif
