/* The table of `iolens files`: as wide as it is, or as wide as a terminal. */
#ifndef IOLENS_FILE_TABLE_H
#define IOLENS_FILE_TABLE_H

#include "digest.h"
#include "output.h"
#include "sites.h"

/* rows: of files, at most; width: characters in a line, 0 = any number; sites: a column of them, NULL = none. */
void file_table_print(struct output *out, const struct digest *d, size_t rows, size_t width, const struct sites *sites);

#endif
