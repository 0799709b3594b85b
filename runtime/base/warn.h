/*
 * Lines for the user, on standard error. They must not harm the job: nothing is written where the descriptor 2 is no longer what it
 * was when the program started (it may be a file of the program by now), nothing waits, and nothing raises a signal. A line that
 * cannot be written at once is lost.
 */
#ifndef IOLENS_WARN_H
#define IOLENS_WARN_H

#include <stddef.h>

/* Remembers what standard error is. Before it, nothing is written. */
void warn_start(void);

/* One line: "iolens: <text>". */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

void warn_write(const char *text, size_t n);

/* strerror() of what a log or a store meets: that one translates, with files, memory and locks of the C library. */
const char *warn_error(int error);

#endif
