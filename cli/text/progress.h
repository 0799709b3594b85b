/* What takes more than a second says so: one line on standard error, where that is a terminal, gone when it is over. */
#ifndef IOLENS_PROGRESS_H
#define IOLENS_PROGRESS_H

#include <stddef.h>

/* "merging 120 logs"; total > 0: of so many, progress_advance() each. The text must last until progress_end. */
void progress_begin(const char *what, size_t total);
void progress_advance(void);
/* Work of several steps: this one has come to number `done` of `total`. The text must last, too; "" or NULL: none. */
void progress_step(const char *step, size_t done, size_t total);
void progress_end(void);

/* Before anything else is printed: the line is gone until the next second. */
void progress_hide(void);

#endif
