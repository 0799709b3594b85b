/* What a session reads and writes, as a line on standard error that is written again and again, while its command runs. */
#ifndef IOLENS_LIVE_LINE_H
#define IOLENS_LIVE_LINE_H

#include <sys/types.h>

/* By a process of its own; 0 where standard error is no terminal. */
pid_t live_line_begin(const char *session);

/* The line is gone. */
void live_line_end(pid_t line);

#endif
