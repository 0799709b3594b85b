/* Lines of a site's files, as iolens doctor --site looks for them. */
#ifndef IOLENS_SITE_FILE_H
#define IOLENS_SITE_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { SITE_TEXT = 4096 };

/* Each line of a file and of those that it includes (`include PATTERN`), without comments; false ends it. */
typedef bool site_line(void *target, const char *file, char *line);
void site_file_read(const char *path, site_line *each, void *target);

/* The last `key=value`, or `key "value"`, whatever the case of the key; false: there is none. Quotes are taken off. */
bool site_file_value(const char *path, const char *key, char value[SITE_TEXT]);

/* "library=/x" of a line of words: false where it has none. */
bool site_word(const char *line, const char *key, char value[SITE_TEXT]);

#endif
