/* The page that follows a run. */
#ifndef IOLENS_SUMMARY_H
#define IOLENS_SUMMARY_H

#include <stdio.h>

/* Both return an exit code and print one line when the log cannot be read or the file not be written. */
int summary_print(FILE *out, const char *log);
int summary_json(const char *file, const char *log);

#endif
