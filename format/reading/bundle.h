/*
 * Stores of processes that have ended, one behind the other in one file, each deflated: an empty page of a store takes nothing
 * there. An entry is named BUNDLE/OFFSET/STORE, and opened like the store's own file (store_reader.h).
 */
#ifndef IOLENS_BUNDLE_H
#define IOLENS_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "deflater.h"

#define BUNDLE_SUFFIX ".stores"

enum { BUNDLE_NAME = 128 }; /* of a store, with its NUL */

/*
 * Writes the store behind the `at` bytes that the bundle has: their number from then on, or -errno. Cut short at any moment, the
 * bundle has the entries before this one.
 */
int64_t bundle_append(int bundle, int64_t at, int store, const char *name, struct deflater *deflater);

/* Every entry's name, until `see` returns anything but 0, which is the result. */
int bundle_each(const char *path, int (*see)(void *context, const char *entry), void *context);

/* It is the name of an entry. */
bool bundle_names(const char *path);

/* From now on entries can be opened; what an observed process reads has none. */
void bundle_enable(void);

#endif
