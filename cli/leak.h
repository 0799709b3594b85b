/* Does an anonymized log still hold words of the original? */
#ifndef IOLENS_LEAK_H
#define IOLENS_LEAK_H

#include "log.h"

enum { LEAK_TEXT = 256 };

/*
 * Searches every text of the log at `path` (names, command, metadata, tables) for the path components and command words
 * of `original`. 0 = none; 1 = one, told in `found`; negative = the new log could not be read.
 */
int leak_search(struct log *original, const char *path, char found[LEAK_TEXT], struct log_error *err);

#endif
