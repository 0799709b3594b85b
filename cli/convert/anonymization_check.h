/* Does an anonymized log still hold words of the original? */
#ifndef IOLENS_ANONYMIZATION_CHECK_H
#define IOLENS_ANONYMIZATION_CHECK_H

#include "log.h"

enum { LEAK_TEXT = 256 };

/*
 * Searches every text of the log at `path`, and the bytes that its regions unpack to, for the words of `original`'s names,
 * command, metadata, records and tables, and for its record ids. 0 = none; 1 = one, told in `found`; negative = one of the
 * logs could not be read.
 */
int leak_search(struct log *original, const char *path, char found[LEAK_TEXT], struct log_error *err);

#endif
